import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import type { ApiClient } from '../support/api-client.ts'
import { countersign } from '../support/command-line.ts'
import { startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('a clock that jumps')
const LIBRARY = findLibrary()
if (LIBRARY === undefined) console.log('skipped: a clock that jumps, there is no libfaketime')
const claim = LIBRARY === undefined ? test.skip : test
const HOUR_MS = 3_600_000

/** Where Debian, and others, put it. */
function findLibrary(): string | undefined {
  const folders = ['/usr/lib', '/usr/lib64', '/usr/local/lib']
  const triples = existsSync('/usr/lib') ? readdirSync('/usr/lib').filter((name) => name.includes('-linux-')) : []
  const places = [...triples.map((name) => `/usr/lib/${name}`), ...folders].map((folder) => `${folder}/faketime`)
  return places.map((folder) => `${folder}/libfaketimeMT.so.1`).find((path) => existsSync(path))
}

interface Timed {
  readonly time: string
  readonly clock: string | undefined
}

async function timesOf(client: ApiClient, run: string): Promise<readonly Timed[]> {
  const times: Timed[] = []
  for await (const line of client.lines(`/v1/runs/${run}/export`)) {
    const { header } = JSON.parse(line) as { header?: JsonObject }
    if (header !== undefined) times.push({ time: String(header.time), clock: header.clock as string | undefined })
  }
  return times
}

claim(
  'time never goes back within a run: a clock that does is shown beside it, and verify reports the skew (F27)',
  async () => {
    using folder = tempFolder()
    const offset = folder.file('offset')
    const jumpTo = (hours: number): void => writeFileSync(offset, `${hours >= 0 ? '+' : ''}${hours}h\n`)
    jumpTo(0)
    const env = {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: offset,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }
    await using server = await startServer({ env })
    const startMs = Date.now()
    // Tokens live through every jump: only the ledger's own clock is under test.
    const clientAt = (hours: number): Promise<ApiClient> =>
      server.client({ now: startMs + hours * HOUR_MS - 60_000, ttlSeconds: 7_200 })
    const now = await clientAt(0)
    await now.post('/v1/runs', { id: 'r', name: 'r' })

    let n = 0
    for (const hours of [0, 2, -1, -1, 1, 3]) {
      jumpTo(hours)
      const client = await clientAt(hours)
      const answer = await client.post('/v1/runs/r/envelopes', { agent: 'a', payload: { notes: n } })
      assert.is(answer.status, 201, `${hours}: ${answer.text}`)
      n += 1
    }
    const times = await timesOf(await clientAt(3), 'r')
    assert.is(times.length, 7, 'the start and six handoffs')
    for (const [index, { time, clock }] of times.entries()) {
      const before = times[index - 1]?.time ?? ''
      assert.ok(time >= before, `${time} after ${before}`)
      if (clock !== undefined) assert.ok(clock < time, 'a reading is shown only where it lies behind')
    }
    const skewed = times.filter(({ clock }) => clock !== undefined)
    assert.is(skewed.length, 3, 'three handoffs came while the clock was behind')
    assert.ok(Date.parse(times.at(-1)?.time ?? '') - startMs > 2.9 * HOUR_MS, 'a clock ahead is followed')

    assert.equal(await server.stop(), { code: 0, signal: null })
    const verified = await countersign(['verify', '--data', server.data])
    assert.is(verified.code, 0, verified.stdout + verified.stderr)
    assert.match(verified.stdout + verified.stderr, /clock|skew/i)
  },
)

test.run()
