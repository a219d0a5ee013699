import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { countersign } from '../support/command-line.ts'
import { rounds } from '../support/rounds.ts'
import { startServer } from '../support/server-process.ts'
import { Workload } from '../support/workload.ts'

const test = suite('a server under load for long')

const SECONDS = Number(process.env.COUNTERSIGN_TEST_SOAK_SECONDS ?? rounds(20, 20, 1_800))
const SAMPLES = 10
/** After the first third a server has loaded its code and filled its caches as far as this load does. */
const GROWTH_MAX_BYTES = 64 * 1024 * 1024
/** Connections come and go. */
const HANDLES_MAX = 20

const residentBytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
const handles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

const linux = process.platform === 'linux' ? test : test.skip

linux(
  `${SECONDS} s of writes and reads: memory and handles do not grow with time, and all of it verifies (F57)`,
  async () => {
    await using server = await startServer({ nodeArgs: ['--max-old-space-size=128', '--max-semi-space-size=16'] })
    const client = await server.client()
    const samples: { bytes: number; handles: number }[] = []
    let written = 0
    for (let n = 0; n < SAMPLES; n += 1) {
      const workload = new Workload({ name: `s${n}`, clients: 8 })
      await workload.startRuns(client)
      const stop = new AbortController()
      const driven = workload.drive(client, stop.signal)
      await sleep((SECONDS * 1_000) / SAMPLES)
      stop.abort()
      await driven
      await workload.settle(client)
      assert.equal(workload.unexpected, [])
      for (const run of workload.runs) assert.is((await client.get(`/v1/runs/${run}`)).status, 200)
      assert.is((await client.get('/v1/runs')).status, 200)
      written += workload.acknowledged.size
      samples.push({ bytes: residentBytes(server.pid), handles: handles(server.pid) })
    }
    const [settled, last] = [samples[Math.floor(SAMPLES / 3)], samples.at(-1)]
    assert.ok(settled !== undefined && last !== undefined)
    const shown = samples.map(({ bytes, handles }) => `${Math.round(bytes / 2 ** 20)} MiB ${handles}`).join(', ')
    console.log(`soak: ${written} writes; ${shown}`)
    if (settled === undefined || last === undefined) return
    assert.ok(last.bytes - settled.bytes < GROWTH_MAX_BYTES, shown)
    assert.ok(Math.abs(last.handles - settled.handles) <= HANDLES_MAX, shown)
    assert.equal(await server.stop(), { code: 0, signal: null })
    const verified = await countersign(['verify', '--data', server.data])
    assert.is(verified.code, 0, verified.stdout + verified.stderr)
  },
)

test.run()
