// SPDX-License-Identifier: MIT
//! Where libtimeweight lies: what pkg-config says, else where the linker looks anyway.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    println!("cargo:rustc-link-lib=timeweight");
    let output = Command::new("pkg-config")
        .args(["--libs-only-L", "timeweight"])
        .output();
    if let Ok(output) = output {
        for flag in String::from_utf8_lossy(&output.stdout).split_whitespace() {
            if let Some(folder) = flag.strip_prefix("-L") {
                println!("cargo:rustc-link-search=native={}", folder);
            }
        }
    }
}
