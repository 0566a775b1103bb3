# SPDX-License-Identifier: Apache-2.0
"""What the bindings of all frameworks share."""
