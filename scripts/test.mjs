// Runs the compiled tests, and prints the slowest files and "N passed, N failed, N skipped" at the end. `--long` runs `*.long.test.js`, and repeats the files
// that draw other cases there; `--soak` does the same with counts that take hours; words select paths that contain them. Without words, suites that
// `test:stores` and the long suite run several times are left out.
import {
  CONTENTION,
  drawSeed,
  KILL,
  levelOf,
  OF_SERVERS,
  runFiles,
  SERVERS,
  slowestLine,
  sumLine,
  THREAD_MODES,
  TWO_WRITERS,
  testFiles,
  wordsOf,
} from './run-files.mjs'

const level = levelOf(process.argv)
const long = level !== 'quick'
const words = wordsOf(process.argv.slice(2))
const ELSEWHERE = [CONTENTION, KILL, TWO_WRITERS, ...SERVERS.map((server) => `store/${server}.`), ...OF_SERVERS]
const isRemote = (file) => ELSEWHERE.some((beginning) => file.startsWith(beginning))
const isNamed = (file) => words.every((word) => file.includes(word))
const files = testFiles({ level }).filter((file) => (words.length === 0 ? long || !isRemote(file) : isNamed(file)))
drawSeed(level)
let sum = await runFiles(files, { level })
if (long) for (const mode of THREAD_MODES) sum = addUp(sum, await inThreadMode(mode))
if (sum.files.length === 0) {
  console.error('no test file matches')
  process.exitCode = 1
}
console.log(slowestLine(sum))
console.log(sumLine(sum))
if (sum.failed > 0) process.exitCode = 1

async function inThreadMode(mode) {
  const isOfMode = (file) => OF_SERVERS.some((beginning) => file.startsWith(beginning))
  const all = new Set([...testFiles({ level: 'quick' }), ...testFiles({ level })])
  const again = [...all].filter((file) => isOfMode(file) && isNamed(file))
  if (again.length > 0) console.log(`threads ${mode}:`)
  return await runFiles(again, { level, env: { COUNTERSIGN_TEST_THREADS: mode } })
}

function addUp(one, other) {
  const files = [...one.files, ...other.files]
  return {
    files,
    passed: one.passed + other.passed,
    failed: one.failed + other.failed,
    skipped: one.skipped + other.skipped,
  }
}
