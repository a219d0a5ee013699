import { EventStoreDBClient } from '@eventstore/db-client'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type SharedStore, sharedStore } from '../support/shared-store.ts'
import { eventually } from '../support/within.ts'

const test = suite('a server that forgets streams of a ledger')

const STREAM = 'run-acme.r1'

async function withRuns(use: (shared: SharedStore, operator: EventStoreDBClient) => Promise<void>): Promise<void> {
  await using shared = await sharedStore(1)
  const client = await shared.servers[0]?.client()
  for (const id of ['r1', 'r2']) {
    assert.is((await client?.post('/v1/runs', { id, name: id }))?.status, 201)
    const envelope = { agent: 'a', payload: { step: 1 } }
    assert.is((await client?.post(`/v1/runs/${id}/envelopes`, envelope))?.status, 201)
  }
  const operator = EventStoreDBClient.connectionString(shared.node.url)
  await use(shared, operator)
  await operator.dispose()
}

async function verdict({ command }: SharedStore): Promise<{ readonly code: number | null; readonly said: string }> {
  const { code, stdout, stderr } = await command(['verify'])
  return { code, said: stdout + stderr }
}

test('a run deleted for good: other runs and tenants are written on, this one answers stream-damaged, the log names it once, verify is never VERIFIED (F126)', async () => {
  await withRuns(async (shared, operator) => {
    const [server] = shared.servers
    const acme = await server?.client()
    const other = await server?.client({ tenant: 'other' })
    await operator.tombstoneStream(STREAM)
    const lines = (): number =>
      server?.output.split('\n').filter((line) => line.includes('deleted for good')).length ?? 0
    await eventually(() => (lines() > 0 ? true : undefined), 'the line in the log')

    const envelope = { agent: 'a', payload: { step: 2 } }
    await acme?.post('/v1/runs/r1/envelopes', envelope)
    const refused = await acme?.post('/v1/runs/r1/envelopes', envelope)
    assert.is(refused?.body.code, 'stream-damaged', refused?.text)
    assert.is((await acme?.post('/v1/runs', { id: 'r1', name: 'r1' }))?.body.code, 'stream-damaged')
    assert.is((await acme?.post('/v1/runs/r2/envelopes', envelope))?.status, 201)
    assert.is((await other?.post('/v1/runs', { id: 'r1', name: 'r1' }))?.status, 201)
    assert.is((await acme?.get('/readyz'))?.status, 200)
    assert.is(lines(), 1)
    const first = await verdict(shared)
    assert.is(first.code, 3, first.said)
    assert.match(first.said, /INCOMPLETE/)
    assert.match(first.said, /run-acme\.r1.*deleted for good.*backup of the server/)

    await server?.restart()
    const again = await server?.client({ tenant: 'other' })
    assert.is((await again?.post('/v1/runs/r1/envelopes', envelope))?.status, 201)
    shared.node.log.scavenge()
    const scavenged = await verdict(shared)
    assert.ok(scavenged.code === 1 || scavenged.code === 3, scavenged.said)
    assert.not.match(scavenged.said, /^VERIFIED/m)
  })
})

test('limits and soft deletion: verify is INCOMPLETE and names them, and VERIFIED when the advice was followed; after a scavenge TAMPERED (F126)', async () => {
  await withRuns(async (shared, operator) => {
    const forget = [
      () => operator.setStreamMetadata(STREAM, { maxCount: 1 }),
      () => operator.setStreamMetadata(STREAM, { maxAge: 60 }),
      () => operator.deleteStream(STREAM),
    ]
    for (const [index, set] of forget.entries()) {
      await set()
      const found = await verdict(shared)
      assert.is(found.code, 3, found.said)
      assert.match(
        found.said,
        new RegExp(
          `INCOMPLETE[^]*${['maxCount', 'maxAge', 'deleted'][index]}|${['maxCount', 'maxAge', 'deleted'][index]}[^]*INCOMPLETE`,
        ),
      )
      assert.match(found.said, /run-acme\.r1/)
      await operator.setStreamMetadata(STREAM, {})
      const mended = await verdict(shared)
      assert.is(mended.code, 0, mended.said)
    }
    await operator.setStreamMetadata(STREAM, { maxCount: 1 })
    shared.node.log.scavenge()
    await operator.setStreamMetadata(STREAM, {})
    const scavenged = await verdict(shared)
    assert.is(scavenged.code, 1, scavenged.said)
    assert.match(scavenged.said, /run-acme\.r1/)
  })
})

test('what a scavenge took while no ledger was running is named after the next start, and on record, also where every limit was lifted before it (F148)', async () => {
  await withRuns(async (shared, operator) => {
    const [server] = shared.servers
    // The last checkpoint is written at the end.
    assert.equal(await server?.stop(), { code: 0, signal: null })
    await operator.setStreamMetadata(STREAM, { maxCount: 1 })
    shared.node.log.scavenge()
    await operator.setStreamMetadata(STREAM, {})

    await server?.start()
    const client = await server?.client()
    const isNamed = (): true | undefined =>
      server?.output.includes('the log has it, the store has not') ? true : undefined
    await eventually(isNamed, 'the line in the log')
    const onRecord = async (): Promise<true | undefined> => {
      const found = (await client?.get('/v1/integrity'))?.text ?? ''
      return /"code":"missing"/.test(found) && found.includes(STREAM.replace('run-acme.', '')) ? true : undefined
    }
    await eventually(onRecord, 'the place on record')
    const envelope = { agent: 'a', payload: { step: 2 } }
    assert.is((await client?.post('/v1/runs/r2/envelopes', envelope))?.status, 201, 'every other run is written on')
  })
})

test.run()
