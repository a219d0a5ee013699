import type { ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { cleanEnv, collected, endOf, spawnTracked } from '../../support/command-line.ts'
import { seededRandom, testSeed } from '../../support/random.ts'
import { rounds } from '../../support/rounds.ts'
import { type TempFolder, tempFolder } from '../../support/temp-folder.ts'
import { mustBeSame } from '../../support/twin-log.ts'
import { within } from '../../support/within.ts'
import { isOnce } from './client-loops.ts'
import { type Bill, type Loopback, loopbackProvider } from './loopback-provider.ts'
import { WIRE_LOOPS } from './wire-loops.ts'

const CHILD = fileURLToPath(new URL('wire-child.js', import.meta.url))
const TURNS = rounds(6, 15, 120)
const TURNS_MANY = rounds(6, 120, 300)
const DEATHS = rounds(2, 4, 20)
const LIFE_MS = 240_000
/** Milliseconds within which an answer is read, recorded, and its calls are begun. */
const AFTER_ANSWER_MS = 30

type Name = keyof typeof WIRE_LOOPS

interface World {
  readonly provider: Loopback
  readonly folder: TempFolder
  readonly name: Name
  readonly key: string
}

interface Life {
  readonly child: ChildProcess
  /** What it gave; undefined for one that was killed. */
  readonly ended: Promise<string | undefined>
}

function began({ provider, folder, name, key }: World, life: number | 'replay'): Life {
  const child = spawnTracked([process.execPath, CHILD, folder.path, name, provider.url, key, String(life)], {
    env: cleanEnv({ LANGSMITH_TRACING: 'false' }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = collected(child)
  const ended = endOf(child).then(({ code, signal }) => {
    if (signal === 'SIGKILL') return undefined
    assert.is(code, 0, `${name}, life ${life} failed: ${output.stderr}`)
    return readFileSync(folder.file(`given-${life}`), 'utf8')
  })
  ended.catch(() => undefined)
  return { child, ended }
}

/** Kills the life at its so-many-th moment: while the provider is asked, amid an answer, or just after it. */
function dooms({ provider }: World, { child }: Life, random: () => number): { readonly deaths: readonly string[] } {
  const deaths: string[] = []
  let left = 1 + Math.floor((random() * 2.5 * TURNS) / DEATHS)
  provider.onMoment = (moment) => {
    left -= 1
    if (left !== 0) return
    const kill = (): void => {
      if (child.exitCode === null && child.kill('SIGKILL')) deaths.push(moment)
    }
    if (moment === 'answered') setTimeout(kill, random() * AFTER_ANSWER_MS)
    else kill()
  }
  return { deaths }
}

async function lived(world: World, kills: number, random: () => number): Promise<{ output: string; deaths: string[] }> {
  const all: string[] = []
  for (let number = 0; ; number += 1) {
    world.provider.onMoment = () => undefined
    const life = began(world, number)
    const { deaths } = all.length < kills ? dooms(world, life, random) : { deaths: [] }
    const output = await within(life.ended, `life ${number} of ${world.name}`, LIFE_MS)
    all.push(...deaths)
    if (output !== undefined) return { output, deaths: all }
  }
}

const lines = (file: string): string[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : []

/** Tokens that the record has for answers, by the providers' own word and as estimates, and how many reservations were charged unsettled. */
function chargedIn(folder: TempFolder): { reported: number; estimates: number; expired: number } {
  const charged = { reported: 0, estimates: 0, expired: 0 }
  for (const line of lines(folder.file('record.jsonl'))) {
    const { header, data } = JSON.parse(line) as {
      header?: { type: string }
      data?: { usage: { tokens: number; estimated?: true } }
    }
    if (header?.type === 'ReservationExpired') charged.expired += 1
    if (header?.type !== 'UsageRecorded' || data === undefined) continue
    if (data.usage.estimated === true) charged.estimates += 1
    else charged.reported += data.usage.tokens
  }
  return charged
}

/** Tokens of each conversation that was answered, once, and how many answers more than that are on the bill. */
function billed(bills: readonly Bill[]): { once: number; more: number; cut: number } {
  const whole = new Map(bills.filter(({ isCut }) => !isCut).map(({ request, tokens }) => [request, tokens]))
  const once = [...whole.values()].reduce((sum, tokens) => sum + tokens, 0)
  const cut = bills.filter(({ isCut }) => isCut).length
  return { once, more: bills.length - cut - whole.size, cut }
}

/** Lives it whole, and killed and resumed, and replays it: all see the same, and the bills agree with the record. */
async function told(name: Name, { turns, kills, seed }: { turns: number; kills: number; seed: number }): Promise<void> {
  await using provider = await loopbackProvider()
  using wholeFolder = tempFolder()
  using folder = tempFolder()
  const { account } = WIRE_LOOPS[name]
  const random = seededRandom(seed)
  const wholeBills = provider.open('whole', { ...account, turns })
  const bills = provider.open('killed', { ...account, turns })
  const whole = await lived({ provider, folder: wholeFolder, name, key: 'whole' }, 0, random)
  const world = { provider, folder, name, key: 'killed' }
  const killed = await lived(world, kills, random)
  const what = `${name}: seed ${seed}, ${turns} turns, killed ${killed.deaths.join(', ')}`
  console.log(`${what}; ${JSON.stringify({ bills: billed(bills), record: chargedIn(folder) })}`)
  assert.ok(killed.deaths.length > 0, 'nobody was killed')
  mustBeSame(killed.output.split('},{'), whole.output.split('},{'), what)

  const effects = lines(folder.file('effects'))
  const once = effects.filter(isOnce)
  assert.equal([...new Set(once)], once, `${what}: an effect was made twice`)
  assert.equal(new Set(once), new Set(lines(wholeFolder.file('effects')).filter(isOnce)), `${what}: the same effects`)

  const { once: tokens, more, cut } = billed(bills)
  const charged = chargedIn(folder)
  assert.is(charged.reported, tokens, `${what}: each answer that the code was given is charged once`)
  assert.is(billed(wholeBills).once, tokens)
  assert.is(chargedIn(wholeFolder).reported, tokens)
  // The provider may have billed an answer that no process has heard: its reservation is charged.
  assert.ok(
    more <= charged.expired,
    `${what}: ${more} answers were lost with a process, ${charged.expired} are charged`,
  )
  assert.ok(charged.estimates <= cut, `${what}: estimates are for answers that were cut`)

  const asked = bills.length
  assert.is(await within(began(world, 'replay').ended, 'the replay', LIFE_MS), killed.output)
  assert.is(bills.length, asked, 'a replay asks nobody')
  assert.equal(lines(folder.file('effects')), effects, 'a replay does nothing')
  const last = lines(folder.file('seen-replay'))
  for (const file of readdirSync(folder.path).filter((each) => each.startsWith('seen-'))) {
    const seen = lines(folder.file(file))
    mustBeSame(seen, last.slice(0, seen.length), `${what}: ${file} is how the replay begins`)
  }
}

const killed = suite('agents that speak to providers over HTTP')
const NAMES = Object.keys(WIRE_LOOPS) as Name[]

for (const [nth, name] of NAMES.entries()) {
  killed(
    `${name}: killed at random, the agent goes on to the transcript of a run that was not, effects once, and what was billed is charged (RUN-234, RUN-235)`,
    () => told(name, { turns: TURNS, kills: DEATHS, seed: testSeed(nth + 1) }),
  )
}

killed('a conversation of 300 turns, of one of them, does the same (RUN-234)', () => {
  const seed = testSeed(9)
  return told(NAMES[seed % NAMES.length] as Name, { turns: TURNS_MANY, kills: 3, seed })
})

killed.run()
