# SPDX-License-Identifier: Apache-2.0
"""Keys and digests of messages, under the names of horovod.runner.common.util.secret."""
import hashlib
import hmac
import secrets

HOROVOD_SECRET_KEY = "_HOROVOD_SECRET_KEY"
SECRET_LENGTH = 32  # Bytes.
DIGEST_LENGTH = hashlib.sha256().digest_size


def make_secret_key():
    """A new random key, bytes."""
    return secrets.token_bytes(SECRET_LENGTH)


def compute_digest(key, message):
    """The HMAC-SHA256 of `message`, bytes."""
    return hmac.new(key, message, hashlib.sha256).digest()


def check_digest(key, message, digest):
    """Whether `digest` belongs to the message."""
    return hmac.compare_digest(compute_digest(key, message), digest)
