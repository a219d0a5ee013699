import { createHash } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Loss } from '../../schemas/loss.ts'
import { ledgerStream, runStream } from '../../schemas/names.ts'
import { applicationOver } from '../../src/cli/api.ts'
import { exportText } from '../../src/export/issue-export.ts'
import { realEffects } from '../../src/ledger/effects.ts'
import { appendFact } from '../../src/ledger/identity/append-fact.ts'
import { Sealer } from '../../src/ledger/identity/sealer.ts'
import { MemoryBudget } from '../../src/resources/memory-budget.ts'
import { acknowledge, isOfAll as isOf, listed, reason, verified, withLater } from '../support/acknowledging.ts'
import {
  alice,
  beside,
  codes,
  last,
  opened,
  putBack,
  removed,
  type Site,
  site,
  startedCode,
  withoutLog,
} from '../support/lossy-site.ts'
import { rowsOf, type StoreRow, tamper } from '../support/tamper.ts'
import type { TestLogs } from '../support/test-logs.ts'
import { uiClient } from '../support/ui-client.ts'

const test = suite('losses that are acknowledged')

const two = runStream('acme', 'two')

const isOfAll = ({ path }: Site, ledger: TestLogs, before: readonly StoreRow[]): void =>
  isOf(
    ledger,
    withLater(before, rowsOf(path), ({ position }) => position),
  )

const bodyAltered = ({ path }: Site, row: StoreRow): void =>
  tamper(path, (db) => db.prepare('UPDATE events SET data = ? WHERE position = ?').run('{"v":1}', row.position))

async function runsPage(ledger: TestLogs): Promise<string> {
  const { fetch, token } = await applicationOver(ledger, 'acme', { scopes: ['runs:read', 'audit:read'] })
  const ui = uiClient({
    app: { request: (path: string, init: RequestInit) => fetch(`http://localhost${path}`, init) } as never,
  })
  await ui.html('/ui/sign-in')
  assert.is((await ui.post('/ui/sign-in', { token })).status, 303)
  return ui.html('/ui/runs')
}

const GONE = 'an event is gone'

async function manyLater(at: Site): Promise<void> {
  await using ledger = await opened(at)
  await ledger.fill('beta', 'many', 130)
}

const LOSSES: Readonly<Record<string, (at: Site, row: StoreRow) => void>> = {
  'a body is altered': bodyAltered,
  'a header is altered': ({ path }, row) =>
    tamper(path, (db) => {
      const text = row.header.replace('"actor"', '"aktor"')
      db.prepare('UPDATE events SET header = ? WHERE position = ?').run(text, row.position)
    }),
  [GONE]: ({ path }, row) => removed(path, [row.position]),
}

for (const [name, lose] of Object.entries(LOSSES))
  test(`${name}, and log.db: acknowledged, the log goes on with the tree that it would have had, over starts and rebuilds (LOG-63, LOG-64)`, async () => {
    using at = await site()
    // A store does not open with a gap among its last events.
    if (name === GONE) await manyLater(at)
    const before = rowsOf(at.path)
    const row = before.filter(({ stream }) => stream === two).at(1)
    if (row === undefined) throw new Error('no event')
    lose(at, row)
    withoutLog(at)
    {
      await using ledger = await opened(at)
      await ledger.logs.publish()
      assert.is(await startedCode(ledger, 'acme'), 'log-stopped')
      assert.equal(await listed(ledger), [`open ${two} @ 1`])
      assert.is(await acknowledge(ledger, two, 0), 'loss-not-found')
      assert.equal(await acknowledge(ledger, two, 1), { status: 'acknowledged', stream: two, from: 1, to: 1, open: 0 })
      assert.equal(await acknowledge(ledger, two, 1), { status: 'known', stream: two, from: 1, to: 1, open: 0 })
      assert.equal(await listed(ledger), [`acknowledged ${two} @ 1-1`])
      assert.equal(codes(ledger.logs.losses('acme')), ['run acknowledged'])
      assert.equal(ledger.logs.losses('beta'), [])
      assert.is(await startedCode(ledger, 'acme'), 'started')
      await ledger.logs.publish()
      isOfAll(at, ledger, before)
    }
    {
      await using ledger = await opened(at)
      assert.equal(ledger.renewals, [])
      assert.equal(codes(ledger.logs.losses('acme')), ['run acknowledged'])
      isOfAll(at, ledger, before)
    }
    assert.equal(await verified(at), { verdict: 'INCOMPLETE', faults: [`loss-acknowledged ${two} @ 1`] })
    withoutLog(at)
    await using ledger = await opened(at)
    await ledger.fill('acme', 'later', 1)
    await ledger.logs.publish()
    assert.equal(codes(ledger.logs.losses('acme')), ['run acknowledged'])
    isOfAll(at, ledger, before)
  })

test('what leaves the ledger about the tenant or the run names the loss, and about another run it does not (LOG-65)', async () => {
  using at = await site()
  const row = rowsOf(at.path).filter(({ stream }) => stream === two)[1]
  if (row === undefined) throw new Error('no event')
  bodyAltered(at, row)
  withoutLog(at)
  await using ledger = await opened(at)
  await ledger.logs.publish()
  assert.equal(ledger.ledger.stats().stoppedLogs, [{ tenant: 'acme', code: 'data-digest' }])
  await acknowledge(ledger, two, 1)
  const named = async (query: { readonly run?: string }): Promise<readonly string[]> => {
    let text = ''
    for await (const part of exportText(ledger.ledger, alice, { format: 'jsonl', query })) text += part
    const { losses = [] } = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '').trailer
    return (losses as readonly Loss[]).map(({ code, stream, revision }) => `${code} ${stream} @ ${revision}`)
  }
  assert.ok((await named({})).includes(`acknowledged ${two} @ 1`))
  assert.ok(codes(ledger.ledger.losses({ tenant: 'acme', run: 'two' })).includes('run acknowledged'))
  const found = await ledger.ledger.run(alice, 'two')
  assert.is(found.ok ? 'shown' : found.refusal.code, 'stream-damaged')
  assert.equal(await named({ run: 'one' }), [])
  assert.equal([ledger.ledger.stats().stoppedLogs, ledger.ledger.stats().holedLogs], [[], ['acme']])
})

test('losses are listed to auditors and acknowledged with the scope admin alone (HTTP-37)', async () => {
  using at = await site()
  const row = rowsOf(at.path).filter(({ stream }) => stream === two)[1]
  if (row === undefined) throw new Error('no event')
  bodyAltered(at, row)
  withoutLog(at)
  await using held = await opened(at)
  await held.logs.publish()
  const ask = async (scope: string, path: string, asked?: object) => {
    const { fetch, token } = await applicationOver(held, 'acme', { scopes: [scope] })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const more = asked === undefined ? {} : { method: 'POST', body: JSON.stringify(asked) }
    const response = await fetch(`http://localhost${path}`, { headers, ...more })
    return { status: response.status, body: await response.json() }
  }
  const asked = { stream: two, revision: 1, reason }
  assert.is((await ask('audit:read', '/v1/losses/acknowledge', asked)).body.code, 'scope-missing')
  assert.is((await ask('admin', '/v1/losses/acknowledge', { ...asked, revision: -1 })).status, 422)
  assert.is((await ask('admin', '/v1/losses/acknowledge', { ...asked, revision: 0 })).body.code, 'loss-not-found')
  assert.is(
    (await ask('admin', '/v1/losses/acknowledge', { ...asked, stream: 'run-beta.far' })).body.code,
    'loss-not-found',
  )
  assert.is((await ask('admin', '/v1/losses/acknowledge', asked)).body.status, 'acknowledged')
  const { status, body } = await ask('audit:read', '/v1/losses')
  const [{ state, stream, revision, reason: why }] = body.items
  assert.equal([status, state, stream, revision, why], [200, 'acknowledged', two, 1, reason])
})

test('an acknowledged loss is counted apart from faults, named, and no news for the scrub; the next fault is (LOG-77)', async () => {
  using at = await site()
  const [, row, next] = rowsOf(at.path).filter(({ stream }) => stream === two)
  if (row === undefined || next === undefined) throw new Error('no events')
  await using ledger = await opened(at)
  const counted = async (): Promise<readonly [faults: number, acknowledged: number]> => {
    await ledger.ledger.integrity.scrub()
    const { integrity, acknowledgedLosses } = ledger.ledger.stats()
    return [integrity.faults, acknowledgedLosses]
  }
  beside(at.path, (db) => db.prepare('UPDATE events SET data = ? WHERE position = ?').run('{"v":1}', row.position))
  assert.equal(await counted(), [1, 0])
  assert.ok(ledger.ledger.integrity.broken(alice) > 0)
  const alarm = await runsPage(ledger)
  assert.ok(alarm.includes('seal broken') && !alarm.includes('lost for good'))
  await acknowledge(ledger, two, 1)
  assert.equal(await counted(), [0, 1])
  assert.is(ledger.ledger.integrity.broken(alice), 0, 'no page warns of it any more')
  const quiet = await runsPage(ledger)
  assert.ok(quiet.includes('lost for good') && !quiet.includes('seal broken'), 'the list of runs marks its run')
  const { faults, acknowledged, scrub } = ledger.ledger.integrity.state({ tenant: 'acme' })
  assert.equal(
    faults.map((fault) => [fault.revision, fault.acknowledged]),
    [[1, true]],
  )
  assert.equal(acknowledged, [{ stream: two, revision: 1, to: 1, run: 'two' }])
  assert.equal(ledger.ledger.integrity.state({ tenant: 'beta' }).acknowledged, [])
  assert.ok(scrub.lastPass !== undefined)
  const { fetch, token } = await applicationOver(ledger, 'acme', { scopes: ['audit:read'] })
  const headers = { authorization: `Bearer ${token}` }
  const body = await (await fetch('http://localhost/v1/integrity', { headers })).json()
  assert.equal(body.acknowledged, [{ stream: two, revision: 1, to: 1, run: 'two' }])
  beside(at.path, (db) => db.prepare('UPDATE events SET data = ? WHERE position = ?').run('{"v":1}', next.position))
  assert.equal(await counted(), [1, 1])
  assert.ok(ledger.ledger.integrity.broken(alice) > 0)
})

test('whatever else is lost after an acknowledgement is not covered by it; what is put back is whole again (LOG-66 to LOG-68)', async () => {
  using at = await site()
  const [, row, next] = rowsOf(at.path).filter(({ stream }) => stream === two)
  if (row === undefined || next === undefined) throw new Error('no events')
  {
    await using ledger = await opened(at)
    beside(at.path, (db) => db.prepare('UPDATE events SET data = ? WHERE position = ?').run('{"v":1}', row.position))
    assert.equal(await acknowledge(ledger, two, 1), { status: 'acknowledged', stream: two, from: 1, to: 1, open: 0 })
  }
  assert.equal(await verified(at), { verdict: 'INCOMPLETE', faults: [`loss-acknowledged ${two} @ 1`] })
  removed(at.path, [next.position])
  const more = await verified(at)
  assert.is(more.verdict, 'TAMPERED')
  assert.ok(more.faults.includes(`loss-acknowledged ${two} @ 1`))
  assert.ok(more.faults.length > 1)
  putBack(at.path, [next])
  tamper(at.path, (db) => db.prepare('UPDATE events SET data = ? WHERE position = ?').run(row.data, row.position))
  assert.equal(await verified(at), { verdict: 'VERIFIED', faults: [], putBack: 1 })
})

test('an acknowledgement under the seal of the ledger that names another event, or one that the log had elsewhere, is found out (LOG-67)', async () => {
  for (const forged of [{ digest: `sha256:${'0'.repeat(64)}` }, { index: 3 }]) {
    using at = await site()
    const row = rowsOf(at.path).filter(({ stream }) => stream === two)[1]
    if (row === undefined) throw new Error('no event')
    {
      await using ledger = await opened(at)
      const seen = await ledger.logs.lostAt({ tenant: 'acme', stream: two, revision: 1 })
      assert.is(seen.kind, 'not-lost')
      const index = ledger.logs.leaves.leafOf('acme', JSON.parse(row.header).id)?.index ?? 0
      const digest = `sha256:${createHash('sha256').update(Uint8Array.of(0)).update(row.header).digest('hex')}`
      const body = { v: 1, stream: two, from: 1, to: 1, what: 'missing', code: 'missing', seenBy: 'log', reason }
      const { prev, revision } = headOf(at, ledgerStream('acme'))
      const { store } = ledger
      const fact = {
        tenant: 'acme',
        type: 'LossAcknowledged',
        data: { ...body, leaves: [{ index, digest, ...forged }] },
      }
      const sealer = new Sealer({ current: () => at.keys, onChange: () => () => true }, new MemoryBudget())
      const result = await appendFact({ store, sealer, effects: realEffects() }, {
        ...fact,
        at: {
          stream: ledgerStream('acme'),
          revision: revision + 1,
          prevDigest: prev,
          prevTime: undefined,
          minRingIndex: 0,
        },
      } as never)
      assert.is(result.kind, 'appended')
    }
    bodyAltered(at, row)
    assert.is((await verified(at)).verdict, 'TAMPERED', JSON.stringify(forged))
    tamper(at.path, (db) => db.prepare('UPDATE events SET data = ? WHERE position = ?').run(row.data, row.position))
    if ('digest' in forged) assert.equal((await verified(at)).faults, [`acknowledged-other ${two} @ 1`])
  }
})

function headOf({ path }: Site, stream: string): { readonly prev: string; readonly revision: number } {
  const { header, revision } = last(rowsOf(path), stream)
  return { prev: `sha256:${createHash('sha256').update(Uint8Array.of(0)).update(header).digest('hex')}`, revision }
}

test('the end of the store is cut, and log.db knows more: acknowledged, the log goes on (LOG-63)', async () => {
  using at = await site()
  const before = rowsOf(at.path)
  const end = last(before, two)
  removed(at.path, [end.position])
  await using ledger = await opened(at)
  assert.equal(codes(ledger.logs.losses('acme')), ['tenant missing'])
  assert.equal(await listed(ledger), [`open ${two} @ ${end.revision}`])
  const { open, status } = (await acknowledge(ledger, two, end.revision)) as { open: number; status: string }
  assert.equal([status, open], ['acknowledged', 0])
  assert.is(await startedCode(ledger, 'acme'), 'started')
  await ledger.logs.publish()
  isOfAll(at, ledger, before)
  const written = await ledger.ledger.execute(
    alice,
    'two',
    { kind: 'envelope', body: { agent: 'a', payload: {} } } as never,
    {},
  )
  assert.is(written.ok ? 'written' : written.refusal.code, 'stream-damaged', 'no revision is given twice')
})

test('an event that a leaf knows is altered under a serving ledger: it is acknowledged by its leaf, and nothing else is (LOG-63)', async () => {
  using at = await site()
  const before = rowsOf(at.path)
  const row = before.filter(({ stream }) => stream === runStream('acme', 'one')).at(2)
  if (row === undefined) throw new Error('no event')
  await using ledger = await opened(at)
  assert.is(await acknowledge(ledger, row.stream, row.revision), 'loss-not-found')
  beside(at.path, (db) => db.prepare('UPDATE events SET data = ? WHERE position = ?').run('{"v":1}', row.position))
  assert.equal(await acknowledge(ledger, row.stream, row.revision), {
    ...{ status: 'acknowledged', stream: row.stream, from: row.revision, to: row.revision, open: 0 },
  })
  const of = (await ledger.ledger.lostEvents.acknowledge({ tenant: 'beta', actor: 'bob' }, { ...row, reason })) as {
    refusal?: { code: string }
  }
  assert.is(of.refusal?.code, 'loss-not-found', "another tenant's")
  await ledger.logs.publish()
  isOfAll(at, ledger, before)
  assert.equal(codes(ledger.logs.losses('acme')), ['run acknowledged'])
})

test('while the end of the stream of acknowledgements is lost itself no other loss is acknowledged, since it would take that place (LOG-63)', async () => {
  using at = await site()
  const before = rowsOf(at.path)
  const own = last(before, ledgerStream('acme'))
  const lost = last(before, two)
  {
    await using ledger = await opened(at)
    beside(at.path, (db) => {
      for (const { position } of [own, lost]) db.prepare('DELETE FROM events WHERE position = ?').run(position)
    })
    assert.is(await acknowledge(ledger, two, lost.revision), 'loss-unknown')
  }
  assert.is(rowsOf(at.path).length, before.length - 2, 'nothing was written')
  putBack(at.path, [own])
  await using ledger = await opened(at)
  const { status } = (await acknowledge(ledger, two, lost.revision)) as { status: string }
  assert.is(status, 'acknowledged')
})

test.run()
