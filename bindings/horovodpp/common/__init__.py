# SPDX-License-Identifier: Apache-2.0
"""Code that the bindings of all frameworks share."""
