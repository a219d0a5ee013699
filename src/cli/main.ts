#!/usr/bin/env node
/**
 * @module Entry point of the command line. It imports nothing before it has checked the version of Node: with a version that is too old, the native SQLite
 * driver would crash the process with a segmentation fault.
 */
const { nodeFault } = await import('../resources/node-version.ts')
const fault = nodeFault(process.versions.node)
if (fault === undefined) {
  await import('./command-line.ts')
} else {
  process.stderr.write(`countersign: ${fault}\n`)
  // EXIT.usage: neither the verdict of a verification nor the failure of a command that started.
  process.exitCode = 2
}

export {}
