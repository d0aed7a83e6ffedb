// SPDX-License-Identifier: MIT
module timeweight

go 1.19
