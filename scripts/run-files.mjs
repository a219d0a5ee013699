// Runs compiled test files, each in a process of its own (a crash, an open handle or a stray global stays with its file), two at a time.
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const PARALLEL = 2
const FILE_TIMEOUT_MS = { short: 120_000, long: 20 * 60_000 }
const ROOT = fileURLToPath(new URL('../dist/test/', import.meta.url))

/** Compiled test files below `dist/test/`, sorted: `*.long.test.js` alone, or all others. */
export function testFiles({ long }) {
  return readdirSync(ROOT, { recursive: true })
    .filter((file) => file.endsWith('.test.js') && file.endsWith('.long.test.js') === long)
    .sort()
}

/** Prints a line a file, and all that a failed one said; gives `{passed, failed, skipped}`. */
export async function runFiles(files, { long, env = {}, timeoutMs = FILE_TIMEOUT_MS[long ? 'long' : 'short'] }) {
  const sum = { passed: 0, failed: 0, skipped: 0 }
  const queue = [...files]
  const worker = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift())
      report(file, await runFile(file, { env, timeoutMs }), sum)
  }
  await Promise.all(Array.from({ length: PARALLEL }, worker))
  return sum
}

export function sumLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`
}

function runFile(file, { env, timeoutMs }) {
  return new Promise((resolve) => {
    const startedMs = Date.now()
    const child = spawn(process.execPath, ['--enable-source-maps', ROOT + file], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    })
    let output = ''
    let timedOut = false
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    const timer = setTimeout(() => {
      timedOut = true
      child.kill('SIGKILL')
    }, timeoutMs)
    child.on('close', (code) => {
      clearTimeout(timer)
      if (timedOut) output += `\nkilled: not done after ${timeoutMs / 1000} s`
      resolve({ code: timedOut ? 1 : code, output, ms: Date.now() - startedMs })
    })
  })
}

/** A file that runs no test at all is a failure: uvu passes silently where `.run()` was forgotten. */
function report(file, { code, output, ms }, sum) {
  const total = count(output, 'Total')
  const passed = count(output, 'Passed')
  const skipped = count(output, 'Skipped')
  const failed = Math.max(total - passed, code === 0 && total + skipped > 0 ? 0 : 1)
  sum.passed += passed
  sum.skipped += skipped
  sum.failed += failed
  const words = [
    `${passed} passed`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ]
  console.log(`${failed > 0 ? 'FAIL' : 'ok  '} ${file} (${words.join(', ')}, ${(ms / 1000).toFixed(1)} s)`)
  if (failed > 0) console.log(output)
  else for (const line of output.split('\n')) if (line.startsWith('skipped:')) console.log(`     ${line}`)
}

function count(output, word) {
  const found = output.match(new RegExp(`^\\s*(?:\\x1b\\[\\d+m)?\\s*${word}:\\s+(\\d+)`, 'm'))
  return found === null ? 0 : Number(found[1])
}
