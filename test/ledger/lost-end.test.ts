import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ledgerStream, SYSTEM_STREAM } from '../../schemas/names.ts'
import { applicationOver } from '../../src/cli/api.ts'
import { exportText } from '../../src/export/issue-export.ts'
import { AccessLog } from '../../src/ledger/audit/access-log.ts'
import { realEffects } from '../../src/ledger/effects.ts'
import { IdentityError } from '../../src/ledger/identity/ledger-identity.ts'
import { Sealer } from '../../src/ledger/identity/sealer.ts'
import { DamagedStreamError } from '../../src/ledger/read/verified-events.ts'
import { MemoryBudget } from '../../src/resources/memory-budget.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { rotated } from '../support/key-rotation.ts'
import { alice, beside, last, opened, removed, site } from '../support/lossy-site.ts'
import { rowsOf } from '../support/tamper.ts'
import { type TestLogs, testLogs } from '../support/test-logs.ts'
import { testStoreKeys } from '../support/test-store.ts'
import { eventually } from '../support/within.ts'

const test = suite('no event takes the place of a lost one')

const own = ledgerStream('acme')

async function exported({ ledger }: TestLogs): Promise<string> {
  try {
    for await (const _ of exportText(ledger, alice, { format: 'jsonl', query: {} }));
    return 'exported'
  } catch (error) {
    return error instanceof DamagedStreamError ? `damaged ${error.stream} @ ${error.revision}` : `${error}`
  }
}

/** No event can record the loss, and every answer names it all the same. */
async function named({ ledger }: TestLogs, revision: number): Promise<void> {
  await ledger.integrity.settled()
  const places = ledger
    .losses({ tenant: 'acme' })
    .map(({ code, stream, revision }) => `${code} ${stream} @ ${revision}`)
  assert.equal([...new Set(places)], [`missing ${own} @ ${revision}`])
  assert.ok(ledger.integrity.broken(alice) > 0)
}

test('the last fact of a ledger is deleted beside a live ledger: what has to be put on record is refused, then and after a start (LOG-70, A446)', async () => {
  using at = await site()
  const lost = await (async () => {
    await using ledger = await opened(at)
    assert.is(await exported(ledger), 'exported')
    await ledger.logs.catchUp()
    const before = rowsOf(at.path)
    const fact = last(before, own)
    beside(at.path, (db) => db.prepare('DELETE FROM events WHERE position = ?').run(fact.position))
    assert.is(await exported(ledger), `damaged ${own} @ ${fact.revision}`)
    const { fetch, token } = await applicationOver(ledger, 'acme', { scopes: ['audit:export'] })
    const answer = await fetch('http://localhost/v1/export', { headers: { authorization: `Bearer ${token}` } })
    const { code } = (await answer.json()) as { code: string }
    assert.equal([answer.status, code], [500, 'stream-damaged'])
    await named(ledger, fact.revision)
    assert.is(rowsOf(at.path).length, before.length - 1, 'nothing was written')
    return fact
  })()
  await using ledger = await opened(at)
  await named(ledger, lost.revision)
  assert.is(await exported(ledger), `damaged ${own} @ ${lost.revision}`)
  assert.is(last(rowsOf(at.path), own).revision, lost.revision - 1, 'nobody took its place')
})

test('a key is announced, the announcement is lost, and the next start would make it again: it is refused (LOG-70)', async () => {
  using at = await site()
  const keys = rotated(at.keys)
  {
    await using ledger = await opened(at)
    ledger.replaceKeys(keys)
    await eventually(() => (last(rowsOf(at.path), SYSTEM_STREAM).revision > 0 ? true : undefined), 'an announcement')
    await ledger.logs.catchUp()
  }
  const announced = last(rowsOf(at.path), SYSTEM_STREAM)
  removed(at.path, [announced.position])
  try {
    await using _ = await testLogs({ folder: at.folder.path, keys })
    assert.unreachable('it must not start')
  } catch (error) {
    assert.is(error instanceof IdentityError ? error.code : error, 'ledger-damaged')
  }
  assert.is(last(rowsOf(at.path), SYSTEM_STREAM).revision, announced.revision - 1, 'nobody took its place')
})

test('a process that forgot where its own list of reads ends goes by what the log knows of it (LOG-70)', async () => {
  await using store = openMemoryStore()
  const memory = new MemoryBudget()
  const [effects, sealer] = [realEffects(), new Sealer({ ...fixed(), onChange: () => () => undefined }, memory)]
  const known = { events: 0 }
  const writer = effects.newId()
  const log = () => new AccessLog({ store, sealer, effects, memory, writer, knownHead: () => known })
  {
    await using first = log()
    await first.record(alice, { query: 'page' })
  }
  known.events = 2
  await using second = log()
  const refused = await second.record(alice, { query: 'page' }).catch((error: unknown) => error)
  assert.instance(refused, DamagedStreamError)
})

function fixed() {
  const keys = testStoreKeys()
  return { current: () => keys }
}

test.run()
