// Runs compiled test files one after the other in this process, as named by its parent, so that shared imports are loaded once. After each file, a line with
// the mark (the first argument) contains its result. When asked to leave, this process must end on its own.
import { readFileSync } from 'node:fs'

const LEAK_AFTER_MS = 20_000
const TICKS_PER_SECOND = 100
const mark = process.argv[2]

// The seed is fixed, so that a failure is reproducible. `COUNTERSIGN_TEST_SEED` draws other cases.
const { default: fc } = await import('fast-check')
fc.configureGlobal({ seed: Number(process.env.COUNTERSIGN_TEST_SEED ?? 1) })

// With this flag, uvu only collects suites, and `exec` runs them.
globalThis.UVU_DEFER = 1
const { exec } = await import('uvu')

process.on('message', (url) => (url === null ? leave() : run(url)))

async function run(url) {
  const before = cpuSeconds()
  globalThis.UVU_QUEUE = [[null]]
  globalThis.UVU_INDEX = 0
  let code = 1
  try {
    await import(url)
    await exec()
    code = process.exitCode ?? 0
  } catch (error) {
    console.log(error)
  }
  process.exitCode = 0
  process.stdout.write(`\n${mark}${JSON.stringify({ code, cpuSeconds: cpuSeconds() - before })}\n`)
}

function leave() {
  process.disconnect()
  setTimeout(() => {
    console.log('what these files left open keeps the process alive:', process.getActiveResourcesInfo())
    process.exit(1)
  }, LEAK_AFTER_MS).unref()
}

/** User and system time of this process and of its ended children; of this process alone if the system does not provide more. */
function cpuSeconds() {
  try {
    const [, fields] = /\) (.*)/.exec(readFileSync('/proc/self/stat', 'utf8'))
    const ticks = fields.split(' ').slice(11, 15).map(Number)
    return ticks.reduce((sum, each) => sum + each) / TICKS_PER_SECOND
  } catch {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
}
