// Workers that are killed at random, for long: runs with approvals, signals, sleeps and runs within them, beside some whose code diverges. Each run must end
// once, each effect happen once, and nobody starve. Run after a build. `--store sqlite|postgres|eventstoredb` (default sqlite; POSTGRES_URL and EVENTSTORE_URL
// name real servers), `--runs N` (default 2000), `--kills N` (default 200), `--workers N` (default 2, then 4), `--seed N`, `--minutes N` (all must have ended
// by then, default 120). What is broken is an exception, and exit code 1.
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    runs: { type: 'string', default: '2000' },
    kills: { type: 'string', default: '200' },
    workers: { type: 'string' },
    seed: { type: 'string' },
    minutes: { type: 'string', default: '120' },
  },
})
const STORES = ['sqlite', 'postgres', 'eventstoredb']
if (!STORES.includes(values.store)) {
  console.error(`--store takes one of ${STORES.join(', ')}`)
  process.exit(2)
}
// Read when the module is loaded.
process.env.COUNTERSIGN_TEST_STORE = values.store
const { surviveKills } = await import(new URL('../dist/test/agent/workers/killed-workers.js', import.meta.url).href)

const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9))
const [runs, kills] = [Number(values.runs), Number(values.kills)]
console.log(`seed ${seed}`)
for (const workers of values.workers === undefined ? [2, 4] : [Number(values.workers)]) {
  const beganMs = Date.now()
  // A file has one ledger process.
  const ledgers = workers > 2 ? 2 : 1
  const told = (line) => console.log(`${workers} workers: ${line}`)
  await surviveKills({ workers, ledgers, runs, kills, seed, withinMs: Number(values.minutes) * 60_000, told })
  const seconds = Math.round((Date.now() - beganMs) / 1000)
  console.log(
    `${workers} workers on ${values.store}: ${runs} runs, ${kills} kills in ${seconds} s, each run and each effect once`,
  )
}
process.exit(0)
