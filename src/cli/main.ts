#!/usr/bin/env node
/**
 * @module The first module of the command line. It imports nothing before it has checked the version of Node: under one that is too old, the native
 * driver of SQLite would end the process with a segmentation fault.
 */
const { nodeFault } = await import('../resources/node-version.ts')
const fault = nodeFault(process.versions.node)
if (fault === undefined) {
  await import('./command-line.ts')
} else {
  process.stderr.write(`countersign: ${fault}\n`)
  // EXIT.usage: no verdict of a verification, and no failure of a command that began.
  process.exitCode = 2
}

export {}
