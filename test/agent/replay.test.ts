import { writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ResumeDiverged } from '../../src/agent/errors.ts'
import { ledgerConnection } from '../../src/agent/runtime/ledger-connection.ts'
import { type Countersign, createRuntime } from '../../src/agent/runtime/runtime.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { dataDigest, recordDigest, sha256Hex } from '../../src/signing/digests.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { alice, testLedger } from '../support/test-ledger.ts'
import { openTestStore } from '../support/test-store.ts'
import { wrapStore } from '../support/wrap-store.ts'
import { codeOf, HOMES, NO_WAIT, rejection } from './homes.ts'

for (const { name, open } of HOMES) {
  const replay = suite(`replay ${name}`)

  const program = (cs: Countersign, log: string[]) => {
    const charge = cs.tool((cents: number) => `p-${log.push(`charge ${cents}`)}`, {
      name: 'charge',
      compensate: ({ result }) => void log.push(`refund ${result}`),
    })
    const ship = cs.tool(
      (address: string) => {
        log.push('ship')
        if (address === '') throw new Error('no address')
        return 'label'
      },
      { name: 'ship', retries: 1, backoff: NO_WAIT },
    )
    return (cents: number, address: string) => async (run: { uuid(): Promise<string> }) =>
      `${await run.uuid()} ${await charge(cents)} ${await ship(address)}`
  }

  replay('gives the recorded output and calls no tool (RUN-27)', async () => {
    await using home = await open()
    const log: string[] = []
    const live = home.process()
    const output = await live.run({ id: 'r' }, program(live, log)(5, 'here'))
    const cs = home.process()
    const result = await cs.replay('r', program(cs, log)(5, 'here'))
    assert.is(result.output, output)
    assert.is(result.end, 'completed')
    assert.is(result.calls, 3)
    assert.equal(log, ['charge 5', 'ship'])
    assert.is((await home.connection.calls('r')).length, 3, 'nothing is written')
  })

  replay('of a run that was rolled back ends as that run did', async () => {
    await using home = await open()
    const log: string[] = []
    const live = home.process()
    await rejection(live.run({ id: 'r' }, program(live, log)(5, '')))
    const before = [...log]
    const cs = home.process()
    const result = await cs.replay('r', program(cs, log)(5, ''))
    assert.is(result.end, 'compensated')
    assert.is(result.outcome?.status, 'COMPENSATED')
    assert.is((result.error as Error).message, 'no address')
    assert.equal(log, before)
  })

  replay('names the first divergence, expected and actual (RUN-27)', async () => {
    await using home = await open()
    const log: string[] = []
    const live = home.process()
    await live.run({ id: 'r' }, program(live, log)(5, 'here'))
    const replayed = async (cents: number, address: string) => {
      const cs = home.process()
      return (await rejection(cs.replay('r', program(cs, log)(cents, address)))) as ResumeDiverged
    }
    const error = await replayed(6, 'here')
    assert.is(error.code, 'replay-diverged')
    assert.equal((error.evidence.actual as { args: unknown }).args, [6])
    assert.equal((error.evidence.expected as { args: unknown }[])[0]?.args, [5])
    assert.is((await replayed(5, 'there')).code, 'replay-diverged')
    const short = home.process()
    program(short, log)
    assert.is(codeOf(await rejection(short.replay('r', async () => 'nothing'))), 'replay-diverged')
    assert.equal(log, ['charge 5', 'ship'])
  })

  replay('works on an exported file, without the run, and on none that was altered (A155)', async () => {
    using folder = tempFolder()
    const file = folder.file('run.jsonl')
    const log: string[] = []
    await using home = await open()
    const live = home.process()
    const output = await live.run({ id: 'r' }, program(live, log)(5, 'here'))
    let text = ''
    for await (const part of live.export('r')) text += part
    writeFileSync(file, text)
    await using elsewhere = await open()
    const cs = elsewhere.process()
    assert.is((await cs.replay({ file }, program(cs, log)(5, 'here'))).output, output)
    writeFileSync(file, text.split('\n').slice(0, -2).join('\n'))
    assert.is(codeOf(await rejection(cs.replay({ file }, async () => ''))), 'not-an-export')
    // One character of a body, a line left out, two lines exchanged, another count.
    const lines = text.trimEnd().split('\n')
    const [one = '', two = '', three = '', ...rest] = lines
    const changes = [
      [one.replace('"v":1', '"v":2'), two, three, ...rest],
      [one, three, ...rest],
      [one, three, two, ...rest],
      [one, two.replace(/"time":"2/, '"time":"1'), three, ...rest],
      [...lines.slice(0, -1), (lines.at(-1) ?? '').replace(/"events":\d+/, '"events":1')],
    ]
    for (const [i, changed] of changes.entries()) {
      writeFileSync(file, `${changed.join('\n')}\n`)
      const error = await rejection(cs.replay({ file }, async () => ''))
      assert.is(codeOf(error), 'export-altered', `${i}: ${error}`)
    }
  })

  replay(
    'a file that was forged whole, links and last line included, is found by the ledger that has the run (RUN-27, A206)',
    async () => {
      using folder = tempFolder()
      const file = folder.file('run.jsonl')
      await using home = await open()
      const live = home.process()
      await live.run({ id: 'r' }, program(live, [])(5, 'here'))
      let text = ''
      for await (const part of live.export('r')) text += part
      writeFileSync(file, text)
      const cs = home.process()
      assert.is((await cs.replay({ file }, program(cs, [])(5, 'here'))).checked, 'seals')
      writeFileSync(file, forged(text))
      const forgery = await rejection(home.process().replay({ file }, async () => ''))
      assert.is(codeOf(forgery), 'export-altered')
      assert.match(String(forgery), /another record of the run r/)
      await using elsewhere = await open()
      const other = elsewhere.process()
      const { checked } = await other
        .replay({ file }, program(other, [])(5, 'here'))
        .catch((error) => ({ checked: codeOf(error) }))
      assert.is(
        checked,
        'replay-diverged',
        'a ledger without the run sees what its links tell: the code takes another way',
      )
    },
  )

  replay.run()
}

const damaged = suite('replay of a store that was changed')

damaged(
  'an event that was altered, or left out, in the store of the ledger itself is never replayed as exact (RUN-27, A207)',
  async () => {
    const inner = await openTestStore()
    type Read = typeof inner.readStream
    const tamper = { how: 'not' as 'not' | 'altered' | 'left out' }
    const readStream: Read = async function* (stream, options) {
      for await (const page of inner.readStream(stream, options)) {
        const isResult = ({ data }: { data: string }) => data.includes('"result":"p-1"')
        if (tamper.how === 'not') yield page
        else if (tamper.how === 'left out') yield page.filter((record) => !isResult(record))
        else
          yield page.map((record) =>
            isResult(record) ? { ...record, data: record.data.replace('p-1', 'p-2') } : record,
          )
      }
    }
    await using test = await testLedger({ store: wrapStore(inner, { readStream }) })
    const connection = ledgerConnection({ ledger: test.ledger, caller: alice, place: 'test', close: async () => {} })
    const life = () => {
      const cs = createRuntime(connection)
      const charge = cs.tool((cents: number) => `p-${cents}`, { name: 'charge' })
      return { cs, body: async () => charge(1) }
    }
    const first = life()
    await first.cs.run({ id: 'r', name: 'r' }, first.body)
    for (const how of ['altered', 'left out'] as const) {
      tamper.how = how
      const { cs, body } = life()
      assert.is(codeOf(await rejection(cs.replay('r', body))), 'stream-damaged', how)
    }
    tamper.how = 'not'
    const last = life()
    const { verdict, checked } = await last.cs.replay('r', last.body)
    assert.equal([verdict, checked], ['exact', 'seals'])
  },
)

damaged.run()

/** Another result of the first call, and everything rebuilt that can be made without a key. */
function forged(text: string): string {
  const records = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  const trailer = records.pop()
  let prev: string | undefined
  let seen = 0
  const lines = records.map(({ header, salt, data }) => {
    const isFirst = data.result !== undefined && seen++ === 0
    const body = isFirst ? { ...data, result: 'forged' } : data
    const sealed = {
      ...header,
      ...(prev !== undefined && { prev }),
      dataDigest: dataDigest(Buffer.from(salt, 'base64url'), canonicalJson(body)),
    }
    prev = recordDigest(canonicalJson(sealed))
    return `${JSON.stringify({ header: sealed, salt, data: body })}\n`
  })
  const facts = { ...trailer.trailer, digest: `sha256:${sha256Hex(lines.join(''))}` }
  return `${lines.join('')}${JSON.stringify({ trailer: facts })}\n`
}
