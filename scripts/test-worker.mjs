// Runs compiled test files one after the other in this process, as its parent names them: what they share is loaded once. After each, one
// line that begins with the mark of the first argument says how it ended. Told to leave, this process must end by itself.
import { readFileSync } from 'node:fs'

const LEAK_AFTER_MS = 20_000
const TICKS_PER_SECOND = 100
const mark = process.argv[2]

// A failure is one that everybody sees again. `COUNTERSIGN_TEST_SEED` draws other cases.
const { default: fc } = await import('fast-check')
fc.configureGlobal({ seed: Number(process.env.COUNTERSIGN_TEST_SEED ?? 1) })

// uvu then collects suites and leaves it to `exec` to run them.
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

/** User and system time of this process and of its children that have ended; of this process alone where the system does not say more. */
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
