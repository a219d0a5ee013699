import type { ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { open } from '../../../src/agent/open.ts'
import { cleanEnv, collected, endOf, spawnTracked } from '../../support/command-line.ts'
import { freePort } from '../../support/free-port.ts'
import { pick, seededRandom, testSeed } from '../../support/random.ts'
import { rounds } from '../../support/rounds.ts'
import { type ServerProcess, startServer } from '../../support/server-process.ts'
import { type TempFolder, tempFolder } from '../../support/temp-folder.ts'
import { within } from '../../support/within.ts'
import { bodyOf, isOnce, LOOPS } from './client-loops.ts'

const CHILD = fileURLToPath(new URL('served-child.js', import.meta.url))
const TURNS = rounds(4, 8, 60)
const DEATHS = rounds(3, 5, 20)
const VICTIMS = ['server', 'agent', 'both'] as const
const LIFE_MS = 120_000

interface World {
  readonly folder: TempFolder
  readonly server: ServerProcess
  readonly token: string
  readonly loop: string
}

interface Life {
  readonly child: ChildProcess
  /** What it gave; undefined for one that was killed. */
  readonly ended: Promise<string | undefined>
}

function began({ folder, server, token, loop }: World, life: number | 'replay'): Life {
  const child = spawnTracked([process.execPath, CHILD, folder.file('.'), loop, String(TURNS), String(life)], {
    env: cleanEnv({ LEDGER_URL: server.url, LEDGER_TOKEN: token }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = collected(child)
  const ended = endOf(child).then(({ code, signal }) => {
    if (signal === 'SIGKILL') return undefined
    assert.is(code, 0, `the agent failed: ${output.stderr}`)
    return output.stdout
  })
  ended.catch(() => undefined)
  return { child, ended }
}

const lines = (file: string): string[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : []

/** Whether so many effects were made before the life ended. */
async function reached({ folder }: World, effects: number, life: Life): Promise<boolean> {
  let isOver = false
  const over = (): void => {
    isOver = true
  }
  life.ended.then(over, over)
  while (!isOver && lines(folder.file('effects')).length < effects) await new Promise((go) => setTimeout(go, 5))
  return !isOver
}

/** Kills the server, the agent or both at random places until the agent ends. Gives what it gave, and who died. */
async function livesOf(world: World, random: () => number): Promise<{ output: string; deaths: string[] }> {
  const deaths: string[] = []
  let number = 0
  let life = began(world, number)
  for (let effects = 0; deaths.length < DEATHS; ) {
    effects += 1 + Math.floor(random() * 3)
    if (!(await reached(world, effects, life))) break
    await new Promise((go) => setTimeout(go, random() * 30))
    const victim = pick(random, VICTIMS)
    if (victim !== 'server') life.child.kill('SIGKILL')
    if (victim !== 'agent') await world.server.restart()
    deaths.push(victim)
    const isOver = victim !== 'server' && (await life.ended) === undefined
    if (isOver) life = began(world, ++number)
  }
  const output = await within(life.ended, 'the last life', LIFE_MS)
  return { output: output ?? '', deaths }
}

async function wholeOf(loop: string): Promise<string | undefined> {
  const chosen = LOOPS[loop as keyof typeof LOOPS]
  if (chosen === undefined) return undefined
  await using cs = await open({ path: ':memory:' })
  const made = new Set<string>()
  const effects = { add: (line: string) => void made.add(line), has: (line: string) => made.has(line) }
  return await cs.run({ name: 'whole' }, bodyOf(cs, { effects, loop: chosen, turns: TURNS }))
}

const killed = suite('agents on a ledger that is served')

for (const [nth, loop] of [...Object.keys(LOOPS), 'a pool of workers'].entries()) {
  killed(
    `${loop}: agent and server are killed at random and started again; the agent goes on to the same transcript, each effect is made once, and a replay sees the same (RUN-162, RUN-194)`,
    async () => {
      const seed = testSeed(nth + 1)
      using folder = tempFolder()
      await using server = await startServer({ port: await freePort() })
      const world = { folder, server, token: await server.token(), loop }
      const { output, deaths } = await livesOf(world, seededRandom(seed))
      console.log(`${loop}: seed ${seed}, killed ${deaths.join(', ')}`)
      assert.ok(deaths.length > 0)
      const whole = await wholeOf(loop)
      if (whole !== undefined) assert.is(output, whole)
      const made = lines(folder.file('effects')).filter(isOnce)
      assert.equal([...new Set(made)], made, 'an effect was made twice')
      assert.is(await within(began(world, 'replay').ended, 'the replay', LIFE_MS), output)
      assert.equal(lines(folder.file('effects')).filter(isOnce), made, 'a replay does nothing')
      const last = lines(folder.file('seen-replay'))
      for (const name of readdirSync(folder.file('.')).filter((each) => each.startsWith('seen-'))) {
        const seen = lines(folder.file(name))
        assert.equal(seen, last.slice(0, seen.length), `${name} is how the replay begins`)
      }
    },
  )
}

killed.run()
