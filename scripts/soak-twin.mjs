// A long run of programs over the public SDK: each is run to its end, killed at commands and resumed, and replayed from the ledger and from a file, in
// process and every tenth over HTTP. All executions must observe the same. Run after a build.
//
// Every 25th program is killed at each of its commands; the others at a share of them (`--kills N`, default 6, evenly apart from one that is drawn), for the
// cost of a program that is killed at each grows with the square of its length: so many more programs are met at the same cost, and over all programs each
// place is. `--every` kills each program at each command.
//
// `--programs N` (default 500), `--seed N`, `--minutes N` (no program is started after that), `--each` (a line for each program), `--shrink` (the first
// program with a difference is shrunk and ends it; without it each is printed as it is), `--lanes N` (default 4: so many ledgers side by side, for programs
// often wait). Exit code 1 if there was a difference. A process takes one core: run one for each, with other seeds.
import { parseArgs } from 'node:util'

const TEST = new URL('../dist/test/', import.meta.url)
const { livePrograms } = await import(new URL('support/twin-lives.js', TEST).href)
const { HOMES } = await import(new URL('agent/homes.js', TEST).href)
const { values } = parseArgs({
  options: {
    programs: { type: 'string' },
    seed: { type: 'string' },
    minutes: { type: 'string' },
    kills: { type: 'string', default: '6' },
    every: { type: 'boolean', default: false },
    each: { type: 'boolean' },
    shrink: { type: 'boolean' },
    lanes: { type: 'string', default: '4' },
  },
})
const programs = Number(values.programs ?? 500)
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9))
const endMs = values.minutes === undefined ? Number.POSITIVE_INFINITY : Date.now() + Number(values.minutes) * 60_000
const SHARE = { 'in process': 1, 'over HTTP': 10 }
/** Programs in a ledger: what it keeps of those before is let go (the ledgers are in memory, and several run side by side). */
const PROGRAMS_OF_LEDGER = 10

/** How often each warning was given. */
const warnings = new Map()
process.removeAllListeners('warning')
process.on('warning', ({ code, name }) => warnings.set(code ?? name, (warnings.get(code ?? name) ?? 0) + 1))

console.log(`seed ${seed}`)
let different = 0
for (const { name, open } of HOMES) {
  const many = Math.ceil(programs / SHARE[name])
  const began = { ms: Date.now(), cpu: process.cpuUsage() }
  const goesOn = () => Date.now() < endMs
  const told = (line) => {
    if (values.each === true || line.includes(': failed, ')) console.log(`${name}: ${line}`)
  }
  const lived = { programs: 0, kills: 0 }
  let [part, begun] = [0, 0]
  const lane = async () => {
    while (begun < many && goesOn()) {
      const own = { programs: Math.min(PROGRAMS_OF_LEDGER, many - begun), seed: seed + part }
      begun += own.programs
      part += 1
      const differs = (program, error) => {
        different += 1
        console.log(`${name}: seed ${own.seed}: ${program}\n${error instanceof Error ? error.stack : error}`)
      }
      await using home = await open()
      const every = values.every || Number(values.kills)
      const found = await livePrograms(home, {
        ...own,
        every,
        goesOn,
        told,
        ...(values.shrink !== true && { differs }),
      })
      lived.programs += found.programs
      lived.kills += found.kills
    }
  }
  await Promise.all(Array.from({ length: Number(values.lanes) }, lane))
  const { user, system } = process.cpuUsage(began.cpu)
  const [took, cpu] = [(Date.now() - began.ms) / 1000, (user + system) / 1e6].map(Math.round)
  console.log(`${name}: ${lived.programs} programs, ${lived.kills} kills in ${took} s, ${cpu} s of processor time`)
}
console.log(different === 0 ? 'all the same' : `${different} differ`, Object.fromEntries(warnings))
process.exit(different === 0 ? 0 : 1)
