// Runs compiled test files in as many processes as the machine has cores. Files share processes, so that shared imports are loaded once; files that measure
// their process, and long ones, each run in a separate process.
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TestProcess } from './test-process.mjs'

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
if (Number.parseInt(process.versions.node, 10) < Number.parseInt(engines.node.slice('>='.length), 10)) {
  console.error(
    `Node ${engines.node} is needed, and this is ${process.version}: begin the command with npx (npx node scripts/test.mjs)`,
  )
  process.exit(2)
}

/** Suites with many processes, and with killed ones, which are meaningful on every store and run there (`test-stores.mjs`). */
export const CONTENTION = 'system/contention.'
export const KILL = 'system/kill.'
export const TWO_WRITERS = 'ledger/two-writers.'
/** Contract suites of stores on servers; each starts its server. */
export const SERVERS = ['postgres', 'eventstoredb']

/** Suites of crashes and faults that the long suite runs with and without threads next to the one that writes the store. */
export const OF_SERVERS = ['system/disk-fault.', 'system/full-disk.', 'system/kill.test.', 'system/shutdown.']
export const THREAD_MODES = ['on', 'off']

const FILE_TIMEOUT_MS = { quick: 120_000, long: 20 * 60_000, soak: 4 * 3_600_000 }
/**
 * Longest time that a test waits for a condition (`test/support/within.ts`): less than the timeout of its file, so that the test itself reports what did not
 * occur.
 */
const patienceMs = (timeoutMs) => Math.min(timeoutMs / 2, 4 * 60_000)
const ROOT = fileURLToPath(new URL('../dist/test/', import.meta.url))
const SLOWEST = 10
/** With COUNTERSIGN_TEST_RETRY=1, up to this many failed files run again, each alone; more failures are not a coincidence. Both outcomes are printed. */
const RETRIED_MAX = 5

/** A larger young generation, as in `npm start`: most objects of a test are garbage before they would be copied, which saves a twentieth of the time. */
const SHARED_ARGS = ['--max-semi-space-size=32']

/**
 * Prefixes of paths below `dist/test/`: files that measure their process, its heap growth or its activity, or that need one in which nothing has called
 * `fetch`, run in a separate process.
 */
const ALONE = [
  'egress/kept-fetch.',
  'http/request-path.',
  'store/memory.',
  'store/sqlite.',
  'store/postgres.test.',
  'store/eventstoredb.test.',
]
/** Files that mostly wait for processes and disks: they start first, in this order. Because of them there is one lane more than there are cores. */
const FIRST = ['store/sqlite-disk-faults.', 'system/', 'examples.', 'agent/kill.', 'cli/']

/** Seeds of fast-check are 32-bit numbers. */
const SEEDS = 2 ** 31

/** `quick`, `long` or `soak`: selects how often tests repeat their rounds (`test/support/rounds.ts`). */
export function levelOf(args) {
  return args.includes('--soak') ? 'soak' : args.includes('--long') ? 'long' : 'quick'
}

/** The arguments that filter paths; `flags`: other flags of the script. */
export function wordsOf(args, flags = []) {
  return args.filter((each) => !['--long', '--soak', ...flags].includes(each))
}

/** The short suite uses a fixed seed, so that a failure is reproducible; the long suite draws a new seed each time, and prints it. */
export function drawSeed(level) {
  if (level === 'quick') return
  process.env.COUNTERSIGN_TEST_SEED ??= String(1 + Math.floor(Math.random() * (SEEDS - 1)))
  console.log(`seed: COUNTERSIGN_TEST_SEED=${process.env.COUNTERSIGN_TEST_SEED} draws the same cases again`)
}

/** Compiled test files below `dist/test/`, sorted: all but `*.long.test.js`; in the long suite those, and files with random or repeated cases. */
export function testFiles({ level }) {
  const long = level !== 'quick'
  const isWanted = (file) => isLong(file) === long || (long && isRepeated(file))
  return readdirSync(ROOT, { recursive: true })
    .filter((file) => file.endsWith('.test.js') && isWanted(file))
    .sort()
}

function isLong(file) {
  return file.endsWith('.long.test.js')
}

/** Whether the file repeats rounds (`test/support/rounds.ts`), or draws cases from a seed (`test/support/random.ts`, fast-check). */
function isRepeated(file) {
  return /support\/r(?:ounds|andom)\.js'|from 'fast-check'/.test(testSource(file))
}

/** The compiled text of a test file. */
export function testSource(file) {
  return readFileSync(ROOT + file, 'utf8')
}

/** Whether the file imports the module, itself or through other modules of the tests; both are paths below `dist/test/`. */
export function reaches(file, module, seen = new Set()) {
  if (file === module) return true
  seen.add(file)
  const imported = [...testSource(file).matchAll(/from '(\.[^']+)'/g)]
    .map(([, path]) => relative(ROOT, resolve(ROOT, dirname(file), path)))
    .filter((path) => !path.startsWith('..') && !seen.has(path))
  return imported.some((path) => reaches(path, module, seen))
}

/** Prints a line per file, and the output of failed ones; returns `{passed, failed, skipped, files}` and the failures. */
export async function runFiles(files, { level, env = {}, timeoutMs = FILE_TIMEOUT_MS[level] }) {
  const sum = { passed: 0, failed: 0, skipped: 0, files: [], failures: [] }
  const patience = { COUNTERSIGN_TEST_PATIENCE_MS: String(patienceMs(timeoutMs)) }
  const options = { timeoutMs, env: { COUNTERSIGN_TEST_ROUNDS: level, ...patience, ...env } }
  const queue = inOrder(files)
  const isAlone = (file) => isLong(file) || ALONE.some((beginning) => file.startsWith(beginning))
  const lane = async () => {
    let shared
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      if (isAlone(file)) {
        await runOne(file, new TestProcess(options), { sum, isLast: true })
      } else {
        if (shared?.isOver) reportEnd(await shared.end(), sum)
        if (shared === undefined || shared.isOver) shared = new TestProcess({ ...options, nodeArgs: SHARED_ARGS })
        await runOne(file, shared, { sum, isLast: false })
      }
    }
    // Resources that files of a shared process left open only show now.
    if (shared !== undefined) reportEnd(await shared.end(), sum)
  }
  await Promise.all(Array.from({ length: availableParallelism() + 1 }, lane))
  if (process.env.COUNTERSIGN_TEST_RETRY === '1') await retryFailures(sum, options)
  return sum
}

/** Files of `FIRST` first, prefix by prefix. */
function inOrder(files) {
  const first = FIRST.flatMap((beginning) => files.filter((file) => file.startsWith(beginning)))
  return [...first, ...files.filter((file) => !first.includes(file))]
}

/** A file that fails together with others but passes alone is reported as flaky: it is not a defect of this commit, but should be examined. */
async function retryFailures(sum, options) {
  const failures = sum.failures.splice(0)
  if (failures.length > RETRIED_MAX) return
  for (const { file, ...first } of failures) {
    for (const key of ['passed', 'failed', 'skipped']) sum[key] -= first[key]
    await runOne(file, new TestProcess(options), { sum, isLast: true })
    const isFlaky = !sum.failures.some((failure) => failure.file === file)
    console.log(isFlaky ? `FLAKY ${file}: failed once, passed when run again alone` : `FAIL ${file}: failed twice`)
  }
}

async function runOne(file, testProcess, { sum, isLast }) {
  const startedMs = Date.now()
  const result = await testProcess.run(ROOT + file)
  const end = isLast ? await testProcess.end() : { code: 0, output: '' }
  const code = result.code === 0 ? end.code : result.code
  report(file, { ...result, code, output: result.output + end.output, ms: Date.now() - startedMs }, sum)
}

export function sumLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`
}

/** The files that used most CPU time, including that of their children, slowest first. */
export function slowestLine({ files }) {
  const slowest = files.toSorted((a, b) => b.cpuSeconds - a.cpuSeconds).slice(0, SLOWEST)
  const total = files.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)
  const shown = slowest.map(({ file, cpuSeconds }) => `${file} ${cpuSeconds.toFixed(1)}`)
  return `${total.toFixed(0)} s of processor time, most of it: ${shown.join(', ')}`
}

/** A file that runs no test is a failure: uvu passes silently if `.run()` was forgotten. */
function report(file, { code, output, ms, cpuSeconds }, sum) {
  const total = count(output, 'Total')
  const passed = count(output, 'Passed')
  // A file that prints why it is skipped is no failure; one that silently runs no test is.
  const skipped = count(output, 'Skipped') + (total === 0 && /^skipped:/m.test(output) ? 1 : 0)
  const failed = Math.max(total - passed, code === 0 && total + skipped > 0 ? 0 : 1)
  sum.passed += passed
  sum.skipped += skipped
  sum.failed += failed
  sum.files.push({ file, cpuSeconds })
  if (failed > 0) sum.failures.push({ file, passed, failed, skipped })
  const words = [
    `${passed} passed`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ]
  console.log(
    `${failed > 0 ? 'FAIL' : 'ok  '} ${file} (${words.join(', ')}, ${(ms / 1000).toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of processor time)`,
  )
  if (failed > 0) console.log(output)
  else for (const line of output.split('\n')) if (line.startsWith('skipped:')) console.log(`     ${line}`)
}

function reportEnd({ code, output, ran }, sum) {
  if (code === 0) return
  sum.failed += 1
  console.log(`FAIL the end of a process that ran ${ran.join(', ')}\n${output}`)
}

function count(output, word) {
  const found = output.match(new RegExp(`^\\s*(?:\\x1b\\[\\d+m)?\\s*${word}:\\s+(\\d+)`, 'm'))
  return found === null ? 0 : Number(found[1])
}
