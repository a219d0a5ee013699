/** @module `npm run bench`. It imports nothing before it has checked the version of Node, like the command line. */
const { nodeFault } = await import('../src/resources/node-version.ts')
const fault = nodeFault(process.versions.node)
if (fault === undefined) {
  await import('./measure.ts')
} else {
  process.stderr.write(`bench: ${fault}\n`)
  process.exitCode = 2
}

export {}
