// Runs the same suites on every backend of the event store, one after the other, and ends with the sum of all: contract, ledger, HTTP, client,
// crash (kill -9 of a ledger process) and many processes at once. PostgreSQL is a server that each test process starts, or that of
// POSTGRES_URL. EventStoreDB is the protocol node in the tests' own process, or with EVENTSTORE_URL set a real server. `--long` runs the long ones; a word narrows to paths or backends that contain it.
// With `--shared` most suites share a store on each server, which is filled and goes on being written to by others
// (test/support/shared-test-store.ts).
//
// Left out is what makes sense for one backend alone: a file's faults (a full disk, failing syncs, the owner's lock, crash images, tampering
// with rows), a server's (lost answers, cut connections, retention), and what has no store at all.
import {
  CONTENTION,
  drawSeed,
  KILL,
  levelOf,
  runFiles,
  SERVERS,
  slowestLine,
  sumLine,
  testFiles,
  testSource,
  wordsOf,
} from './run-files.mjs'

/** Beginnings of paths below `dist/test/`. */
const LEDGER = 'ledger/'
const WEBHOOKS = 'webhooks/'
const OF_LEDGERS = [LEDGER, 'http/', 'client/']
const ON_EVERY_STORE = [...OF_LEDGERS, WEBHOOKS, CONTENTION]
const AFTER_KILL = [KILL]

const level = levelOf(process.argv)
/** The servers' stores are filled and shared by tests, instead of one a test. */
const isShared = process.argv.includes('--shared')
const words = wordsOf(process.argv.slice(2), ['--shared'])
const all = testFiles({ level })

/** Suites of ledgers that have no part in a store which tests share, each with the reason. */
const UNSHARED = Object.fromEntries(
  all
    .filter((file) => OF_LEDGERS.some((beginning) => file.startsWith(beginning)))
    .map((file) => [file, whyUnshared(testSource(file))])
    .filter(([, why]) => why !== undefined),
)

/** A tenant that is the test's own is named by `ownTenant`, `freshTenant`, `ownCaller` or the caller `alice`. */
function whyUnshared(source) {
  if (/\b(?:createLedgerKeys|rotate(?!TokenKeys)\w*)\(/.test(source) && !source.includes('rotates: true')) {
    return 'it has keys of its own, or rotates them'
  }
  if (/(?<!(?:ownTenant|freshTenant|ownCaller)\()'acme'|run-acme/.test(source)) return 'it names its tenants itself'
  return undefined
}

/** It is shared by all tests as it is. */
const REAL = process.env.EVENTSTORE_URL ? 'eventstoredb' : undefined

const STORES = [
  // Nothing of it outlives its process: there is nothing to kill for.
  { name: 'memory', suites: ['store/memory.', ...ON_EVERY_STORE] },
  {
    name: 'sqlite',
    suites: ['store/sqlite.', ...ON_EVERY_STORE, ...AFTER_KILL],
    leftOut: { 'ledger/two-writers.': 'a file has one writer' },
  },
  server('postgres'),
  REAL === undefined ? server('eventstoredb') : realServer(),
  ...(isShared ? SERVERS.filter((name) => name !== REAL).map(shared) : []),
]

/** Each test with a store of its own. */
function server(name) {
  const ofLedgers = isShared && name !== REAL ? Object.keys(UNSHARED) : OF_LEDGERS
  return { name, suites: [`store/${name}.`, ...ofLedgers, WEBHOOKS, CONTENTION, ...AFTER_KILL] }
}

function shared(name) {
  const suites = [`store/${name}.`, ...OF_LEDGERS]
  const shown = `${name}, filled and shared by tests`
  return { name, shown, suites, leftOut: UNSHARED, env: { COUNTERSIGN_TEST_SHARED: '1' } }
}

/** It keeps everything and has one identity: the ledger's own suites, which found a ledger with new keys for each test, want an empty store. */
function realServer() {
  const leftOut = {
    [LEDGER]: 'it founds ledgers with keys of their own',
    [WEBHOOKS]: 'its tests read a store from its beginning',
  }
  return { ...server('eventstoredb'), shown: 'eventstoredb, the server of EVENTSTORE_URL', leftOut }
}

/** A server is asked over the network what memory answers at once, and on a filled store each new ledger follows it from its start. */
const timeoutMs = { quick: isShared ? 10 : 5, long: 30, soak: 240 }[level] * 60_000
const total = { passed: 0, failed: 0, skipped: 0, files: [] }
let found = 0
drawSeed(level)
for (const { name, shown = name, suites, leftOut = {}, env = {} } of STORES) {
  const isAmong = (file, beginnings) => beginnings.some((beginning) => file.startsWith(beginning))
  const wanted = all
    .filter((file) => isAmong(file, suites))
    .filter((file) => words.every((word) => `${shown} ${file}`.includes(word)))
  const files = wanted.filter((file) => !isAmong(file, Object.keys(leftOut)))
  if (files.length === 0) continue
  found += files.length
  console.log(`store: ${shown}`)
  for (const [beginning, why] of Object.entries(leftOut)) {
    if (wanted.some((file) => file.startsWith(beginning))) console.log(`     left out: ${beginning}: ${why}`)
  }
  const sum = await runFiles(files, { level, timeoutMs, env: { COUNTERSIGN_TEST_STORE: name, ...env } })
  for (const key of ['passed', 'failed', 'skipped']) total[key] += sum[key]
  total.files.push(...sum.files.map(({ file, ...rest }) => ({ file: `${shown} ${file}`, ...rest })))
  console.log(`store: ${shown}: ${sumLine(sum)}\n`)
}
if (found === 0) {
  console.error('no test file matches')
  process.exitCode = 1
}
console.log(slowestLine(total))
console.log(sumLine(total))
if (total.failed > 0) process.exitCode = 1
