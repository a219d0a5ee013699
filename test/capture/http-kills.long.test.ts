import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { createClient } from '../../src/client/client.ts'
import { cleanEnv, countersign, endOf, spawnTracked } from '../support/command-line.ts'
import { freePort } from '../support/free-port.ts'
import { asked, fileFor } from '../support/mcp-host.ts'
import { pick, seededRandom, testSeed } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { eventually } from '../support/within.ts'

const http = suite('capture: kills over HTTP')

const COUNTING = fileURLToPath(new URL('./counting-http-child.js', import.meta.url))

http(
  'proxy, server and client are killed at random: no call reaches the server twice, what was answered is on record, the unknown is in doubt, reads go on (CAP-44)',
  async () => {
    const seed = testSeed(11)
    const random = seededRandom(seed)
    const count = rounds(4, 30, 200)
    using folder = tempFolder()
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/mcp`
    const start = () =>
      spawnTracked([process.execPath, COUNTING, String(port), folder.file('reached')], {
        env: cleanEnv(),
        stdio: 'ignore',
      })
    let upstream = start()
    const data = folder.file('data')
    const ledger = await startServer({ data, args: fileFor(folder, url, { read: 'none' }) })
    const token = await ledger.token({ scopes: ['runs:write', 'runs:read'] })
    const answered = new Set<number>()
    let leaving = new AbortController()
    let n = 0
    let reads = 0
    let isOver = false
    const text = async (params: JsonObject, key?: string): Promise<string> => {
      const asking = { signal: leaving.signal, ...(key !== undefined && { key }) }
      const answer = await asked(ledger, token, params, asking).catch(() => undefined)
      return answer?.text().catch(() => '') ?? ''
    }
    const host = async (): Promise<void> => {
      while (!isOver) {
        n += 1
        // What it got no answer to it sends again where it says which call it is; else it cannot know whether it would be a second one.
        const key = n % 2 === 0 ? `n-${n}` : undefined
        for (let tries = key === undefined ? 1 : 3; tries > 0 && !answered.has(n); tries -= 1)
          if ((await text({ name: 'charge', arguments: { n } }, key)).includes(`done ${n}`)) answered.add(n)
        if ((await text({ name: 'read', arguments: {} })).includes('done')) reads += 1
        else await sleep(20)
      }
    }
    const running = host()
    const tally: Record<string, number> = {}
    try {
      for (let turn = 0; turn < count; turn += 1) {
        const before = reads
        await eventually(() => (reads > before ? true : undefined), `reads go on after turn ${turn} (seed ${seed})`)
        await sleep(random() * 200)
        const victim = pick(random, ['proxy', 'server', 'client'] as const)
        tally[victim] = (tally[victim] ?? 0) + 1
        if (victim === 'client') {
          leaving.abort()
          leaving = new AbortController()
        } else if (victim === 'server') {
          const ended = endOf(upstream)
          upstream.kill('SIGKILL')
          await ended
          upstream = start()
        } else {
          await ledger.kill()
          await ledger.start()
        }
      }
      isOver = true
      leaving.abort()
      await running
      await ledger.stop()
    } finally {
      isOver = true
      leaving.abort()
      upstream.kill('SIGKILL')
      await ledger[Symbol.asyncDispose]()
    }
    const reached = !existsSync(folder.file('reached'))
      ? []
      : readFileSync(folder.file('reached'), 'utf8')
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => (JSON.parse(line) as { n: number }).n)
    assert.equal(
      reached.filter((each, at) => reached.indexOf(each) !== at),
      [],
      `no call reaches the server twice (seed ${seed})`,
    )
    const after = await startServer({ data })
    const api = createClient({ url: after.url, token })
    const calls: JsonObject[] = []
    for await (const call of api.calls('host')) if (call.tool === 'charge') calls.push(call)
    const statusesOf = (each: number) =>
      calls
        .filter(({ args }) => (args as JsonObject).n === each)
        .map(({ status, overdue }) => (overdue === true ? 'in-doubt' : String(status)))
    for (const each of answered)
      assert.ok(statusesOf(each).includes('succeeded'), `${each} was answered (seed ${seed})`)
    for (const each of reached)
      assert.ok(
        statusesOf(each).some((status) => status === 'succeeded' || status === 'in-doubt'),
        `${each} reached the server: ${statusesOf(each)} (seed ${seed})`,
      )
    process.stdout.write(
      `seed ${seed}: ${JSON.stringify({ ...tally, asked: n, reached: reached.length, answered: answered.size, reads })}\n`,
    )
    await after[Symbol.asyncDispose]()
    const { code, stdout, stderr } = await countersign(['verify', '--data', data])
    assert.is(code, 0, stdout + stderr)
  },
)

http.run()
