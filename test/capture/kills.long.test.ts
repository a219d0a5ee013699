import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { createClient } from '../../src/client/client.ts'
import { readKeyFile } from '../../src/signing/key-file.ts'
import { issueToken } from '../../src/signing/tokens.ts'
import { BIN, cleanEnv, countersign, endOf, spawnTracked } from '../support/command-line.ts'
import { freePort } from '../support/free-port.ts'
import { pick, seededRandom, testSeed } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'
import { eventually } from '../support/within.ts'

const kills = suite('capture: kills')

const childOf = (name: string): string => fileURLToPath(new URL(`./${name}-child.js`, import.meta.url))
const VICTIMS = ['host', 'proxy', 'server', 'ledger'] as const
const ORPHAN_MS = 5_000

interface Entry {
  readonly pid?: number
  readonly proxy?: number
  readonly n?: number
  readonly asks?: number
  readonly text?: string
  readonly read?: string
}

class World {
  readonly #folder: TempFolder
  readonly #port: number
  #ledger: ChildProcess | undefined
  #host: ChildProcess | undefined
  token = ''

  constructor(folder: TempFolder, port: number) {
    this.#folder = folder
    this.#port = port
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  get data(): string {
    return this.#folder.file('data')
  }

  entries(name: 'host' | 'server'): readonly Entry[] {
    const path = this.#folder.file(name)
    if (!existsSync(path)) return []
    // The last line of a process that was killed may be cut.
    return readFileSync(path, 'utf8')
      .split('\n')
      .slice(0, -1)
      .flatMap((line) => (line.startsWith('{') && line.endsWith('}') ? [JSON.parse(line) as Entry] : []))
  }

  async startLedger(): Promise<void> {
    const args = [process.execPath, BIN, 'serve', '--port', String(this.#port), '--data', this.data]
    this.#ledger = spawnTracked(args, { env: cleanEnv(), stdio: 'ignore' })
    await eventually(async () => {
      const answer = await fetch(`${this.url}/readyz`).catch(() => undefined)
      return answer?.ok === true ? true : undefined
    }, 'the ledger')
    const keys = readKeyFile(this.#folder.file('data/keys.json'))
    const names = { issuer: 'countersign', audience: 'countersign', subject: 'host', tenant: 'default' }
    this.token = await issueToken({
      keys,
      ...names,
      scopes: ['runs:write', 'runs:read'],
      ttlSeconds: 86_000,
      now: Date.now(),
    })
  }

  startHost(): void {
    const asked = this.entries('host').flatMap(({ asks }) => asks ?? [])
    const proxy = [process.execPath, BIN, 'mcp', '--url', this.url, '--run', 'kills', '--server', 'counting']
    const effects = ['--effects', this.#folder.file('effects.json')]
    const server = ['--', process.execPath, childOf('counting-server'), this.#folder.file('server')]
    // The number that the host before was killed at is asked again where it has a key: as a host does that knows which call it is.
    const last = asked.at(-1) ?? -1
    const first = last >= 0 && last % 2 === 0 ? last : last + 1
    this.#host = spawnTracked(
      [
        process.execPath,
        childOf('calling-host'),
        this.#folder.file('host'),
        String(first),
        ...proxy,
        ...effects,
        ...server,
      ],
      {
        env: cleanEnv({ COUNTERSIGN_TOKEN: this.token }),
        stdio: 'ignore',
      },
    )
  }

  get pids(): { readonly proxy: number; readonly server: number } {
    return {
      proxy:
        this.entries('host')
          .flatMap(({ proxy }) => proxy ?? [])
          .at(-1) ?? -1,
      server:
        this.entries('server')
          .flatMap(({ pid }) => pid ?? [])
          .at(-1) ?? -1,
    }
  }

  async kill(victim: (typeof VICTIMS)[number], awayMs: number): Promise<void> {
    const { proxy, server } = this.pids
    if (victim === 'ledger') {
      this.#ledger?.kill('SIGKILL')
      await sleep(awayMs)
      return this.startLedger()
    }
    if (victim === 'host') this.#host?.kill('SIGKILL')
    else killPid(victim === 'proxy' ? proxy : server)
    await eventually(
      () => (isAlive(proxy) || isAlive(server) ? undefined : true),
      `no orphan after a kill of the ${victim}`,
      ORPHAN_MS,
    )
    if (victim === 'host') this.startHost()
  }

  async stop(): Promise<void> {
    if (this.#host !== undefined) {
      const ended = endOf(this.#host)
      this.#host.kill('SIGKILL')
      await ended
    }
    const { proxy, server } = this.pids
    await eventually(
      () => (isAlive(proxy) || isAlive(server) ? undefined : true),
      'no orphan at the end',
      ORPHAN_MS + 10_000,
    )
  }

  async close(): Promise<void> {
    this.#host?.kill('SIGKILL')
    if (this.#ledger === undefined) return
    const ended = endOf(this.#ledger)
    this.#ledger.kill('SIGTERM')
    await ended
  }
}

function killPid(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Gone already.
  }
}

function isAlive(pid: number): boolean {
  try {
    // A zombie has ended: its parent was killed, and nobody has looked yet.
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

async function judge(
  world: World,
): Promise<{ readonly asked: number; readonly done: number; readonly doubts: number }> {
  const client = createClient({ url: world.url, token: world.token })
  const calls: JsonObject[] = []
  for await (const call of client.calls('kills')) if (call.tool === 'charge') calls.push(call)
  const host = world.entries('host')
  const reached = world.entries('server').flatMap(({ n }) => n ?? [])
  const twice = reached.filter((n, at) => reached.indexOf(n) !== at)
  assert.equal(twice, [], 'no call reaches the server twice')

  const answered = new Set(host.flatMap(({ n, text = '' }) => (n !== undefined && text.startsWith('done') ? [n] : [])))
  const byNumber = (n: number) => calls.filter(({ args }) => (args as JsonObject).n === n)
  for (const n of answered)
    assert.ok(
      byNumber(n).some(({ status }) => status === 'succeeded'),
      `${n} was answered and is not recorded as that`,
    )
  for (const n of reached) {
    const statuses = byNumber(n).map(({ status, overdue }) => (overdue === true ? 'in-doubt' : String(status)))
    assert.ok(
      statuses.some((status) => ['succeeded', 'in-doubt', 'claimed'].includes(status)),
      `${n} reached the server, and the record says ${statuses}`,
    )
  }
  const known = new Set(reached)
  for (const { status, args } of calls)
    if (status === 'succeeded') assert.ok(known.has(Number((args as JsonObject).n)), 'nothing is recorded that was not')
  const open = calls.filter(({ status }) => status === 'claimed' || status === 'in-doubt')
  for (const call of open)
    assert.ok(
      call.status === 'in-doubt' || call.overdue === true,
      `${call.callId} is said to be under way, and nobody carries it out`,
    )
  return { asked: new Set(host.flatMap(({ asks }) => asks ?? [])).size, done: answered.size, doubts: open.length }
}

kills(
  'host, proxy, server and ledger are killed at random: nothing reaches the server twice, what was answered is on record, the unknown is in doubt, no orphan stays (CAP-9, CAP-12)',
  async () => {
    const seed = testSeed(7)
    const random = seededRandom(seed)
    const count = rounds(4, 30, 200)
    using folder = tempFolder()
    writeFileSync(folder.file('effects.json'), '{"tools": {"read": "none"}}')
    const world = new World(folder, await freePort())
    const tally: Record<string, number> = {}
    try {
      await world.startLedger()
      world.startHost()
      for (let turn = 0; turn < count; turn += 1) {
        const before = world.entries('host').filter(({ read }) => read !== undefined).length
        await eventually(
          () => (world.entries('host').filter(({ read }) => read !== undefined).length > before ? true : undefined),
          `reads go on after turn ${turn} (seed ${seed})`,
        )
        await sleep(random() * 400)
        const victim = pick(random, VICTIMS)
        tally[victim] = (tally[victim] ?? 0) + 1
        await world.kill(victim, random() * 1_500)
      }
      await world.stop()
      const seen = await judge(world)
      process.stdout.write(`seed ${seed}: ${JSON.stringify({ ...tally, ...seen })}\n`)
      assert.ok(seen.done > count / 2, 'calls went through between the kills')
    } finally {
      await world.close()
    }
    const { code, stdout, stderr } = await countersign(['verify', '--data', world.data])
    assert.is(code, 0, stdout + stderr)
  },
)

kills.run()
