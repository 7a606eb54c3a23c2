#!/usr/bin/env node
// Starts the program of the package for this system. Nothing is downloaded: npm has installed that package with
// this one, as an optional dependency.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

// The version of this system's glibc, if it has one.
function systemsGlibc() {
  if (process.platform !== "linux") return undefined;
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime;
}

const glibc = systemsGlibc();

// The packages whose program runs here, the best one first. The one for musl is static, and runs on every Linux.
function candidates() {
  const name = `@mcp-protector/${process.platform}-${process.arch}`;
  if (process.platform !== "linux") return [name];
  return glibc ? [name, `${name}-musl`] : [`${name}-musl`];
}

// The program of a package that npm has installed with this one: of the same version. Another directory further up may
// have a package of this name, too.
function installed(name) {
  const file = process.platform === "win32" ? "mcp-protector.exe" : "mcp-protector";
  try {
    if (require(`${name}/package.json`).version !== require("./package.json").version) return undefined;
    return require.resolve(`${name}/bin/${file}`);
  } catch {
    return undefined;
  }
}

function fail(text) {
  console.error(`mcp-protector: ${text}`);
  process.exit(2);
}

// Instead of this process, where Node can do that; else beside it.
function start(program) {
  const words = process.argv.slice(2);
  if (process.execve && process.platform !== "win32") process.execve(program, [program, ...words], process.env);
  const child = spawn(program, words, { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    // Windows informs every process of a console itself.
    process.on(signal, () => process.platform === "win32" || child.kill(signal));
  }
  child.on("error", (error) => fail(`cannot start \`${program}\`: ${error.message}`));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // A signal that does not end this process.
    process.exit(128 + constants.signals[signal]);
  });
}

// The glibc that a program needs, if it is newer than this system's: the loader would only name a symbol.
function missingGlibc(name) {
  const needed = require(`${name}/package.json`).glibc;
  return needed && needed.localeCompare(glibc, "en", { numeric: true }) > 0 ? needed : undefined;
}

const wanted = candidates();
const found = wanted.filter(installed);
if (found.length === 0) {
  fail(
    `the package ${wanted.map((name) => `\`${name}\``).join(" or ")} is not installed. Install \`mcp-protector\` again, ` +
      "on this system and without `--omit=optional`. If there is no such package, build the program from its source: " +
      "`cargo install --locked --path .`",
  );
}
const usable = found.find((name) => !missingGlibc(name));
if (usable === undefined) {
  fail(
    `the program needs glibc ${missingGlibc(found[0])}, and this system has ${glibc}. A release also has a static ` +
      `program, which needs none: \`mcp-protector-${process.arch === "x64" ? "x86_64" : "aarch64"}-unknown-linux-musl\``,
  );
}
start(installed(usable));
