// A long run of the truth oracle: many cases of damage (default 10,000, rounded up to a whole round); after each, every exit is queried and compared with
// what was acknowledged. Run after a build. `--cases N`, `--seed N`, `--class WORD` (only classes whose name contains it), `--store sqlite` (the default),
// `postgres` (the tests' server, or POSTGRES_URL) or `eventstoredb` (a protocol node in this process), `--process` (each case beside a server of its own),
// `--only NAME` (only exits whose name begins so, such as `write` or `query: spend`, at once after a start). Each false claim is printed, and
// the counts at the end; the exit code is 1 if there is one that test/system/truth-oracle-not-yet.ts does not name.
import { parseArgs } from 'node:util'

const DIST = new URL('../dist/test/system/', import.meta.url)
const { classesOf, runRounds, tallyLines } = await import(new URL('truth-oracle-rounds.js', DIST).href)
const { kindOf } = await import(new URL('truth-oracle-exits.js', DIST).href)
const { isKnown } = await import(new URL('truth-oracle-not-yet.js', DIST).href)
const { values } = parseArgs({
  options: {
    cases: { type: 'string' },
    seed: { type: 'string' },
    class: { type: 'string', default: '' },
    store: { type: 'string', default: 'sqlite' },
    only: { type: 'string' },
    process: { type: 'boolean', default: false },
  },
})
const { store: kind } = values
const cases = Number(values.cases ?? 10_000)
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9))
const classes = classesOf(kind).filter((name) => name.includes(values.class))
/** Cases between two lines that tell how far it is, so that one that is stopped has told its counts. */
const CASES_BETWEEN_LINES = 100
let isNew = false
let toldAt = 0

function goesOn(tally) {
  if (tally.cases - toldAt >= CASES_BETWEEN_LINES) {
    toldAt = tally.cases
    console.log(`so far: ${tallyLines(tally)[0]}`)
  }
  return tally.cases < cases
}

function onCase({ damage, findings, untellable, run }, own) {
  if (untellable) return
  for (const { exit, claim } of findings) {
    const known = isKnown(kind, damage, kindOf(exit))
    isNew ||= !known
    console.log(`${known ? 'known' : 'NEW'}: seed ${own}, ${damage} (${run}): ${exit}: ${claim}`)
  }
}

console.log(`seed ${seed}`)
const by = values.process ? 'process' : 'module'
const tally = await runRounds({ seed, kind, by, classes, only: values.only, onCase, goesOn })
for (const line of tallyLines(tally)) console.log(line)
process.exit(isNew ? 1 : 0)
