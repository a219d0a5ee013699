import { rmSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type OpenLedger, openLedger, type Waiting } from '../../src/compose/compose.ts'
import { startService } from '../../src/compose/compose-service.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { readSettings, type Settings } from '../../src/settings/config.ts'
import { requireKeys } from '../../src/settings/key-source.ts'
import { issueToken } from '../../src/signing/tokens.ts'
import { drive } from '../support/run-driver.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'
import { eventually, within } from '../support/within.ts'

const test = suite('a start that takes long')

/** The edge writes its requests at a level of its own. */
const LOG = { ...silentLog, debug: () => undefined }

const settingsOf = (folder: TempFolder): Settings =>
  readSettings({ data: folder.file('data'), port: '0', 'checkpoint-seconds': '3600' }, {})

/** An opener that reports a pass over the whole store and then waits. */
function heldOpener() {
  let go: () => void = () => undefined
  const release = new Promise<void>((resolve) => {
    go = resolve
  })
  const opener = async (settings: Settings, log: typeof silentLog, waiting?: Waiting): Promise<OpenLedger> => {
    waiting?.onCatchUp({ percent: 40, indexedEvents: 4_000 })
    const stopped = new Promise<void>((resolve) => waiting?.signal.addEventListener('abort', () => resolve()))
    await Promise.race([release, stopped])
    waiting?.signal.throwIfAborted()
    return openLedger(settings, log, waiting)
  }
  return { opener, go: () => go() }
}

test('the service listens meanwhile, lives, is not ready and says how far it is, answers 503 with Retry-After, and then serves (F284)', async () => {
  using folder = tempFolder()
  const settings = settingsOf(folder)
  await (await openLedger(settings, silentLog))[Symbol.asyncDispose]()
  const { opener, go } = heldOpener()
  const service = await startService({ settings, log: LOG, version: 'test' }, opener)
  try {
    const authorization = `Bearer ${await issueToken({
      keys: requireKeys(settings.keys),
      issuer: 'countersign',
      audience: 'countersign',
      subject: 'alice',
      tenant: 'acme',
      scopes: ['runs:write'],
      ttlSeconds: 60,
      now: Date.now(),
    })}`
    const post = () =>
      fetch(`${service.url}/v1/runs`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ id: 'r', name: 'r' }),
      })
    assert.is((await fetch(`${service.url}/healthz`)).status, 200)
    const readiness = await fetch(`${service.url}/readyz`)
    assert.is(readiness.status, 503)
    assert.match(await readiness.text(), /the logs are being made from the store: 40 %, 4000 events so far/)
    const early = await post()
    assert.is(early.status, 503)
    assert.ok(Number(early.headers.get('retry-after')) > 0)
    assert.match(await early.text(), /store-unavailable/)
    go()
    await eventually(async () => (await fetch(`${service.url}/readyz`)).status === 200 || undefined, 'readiness')
    assert.is((await post()).status, 201)
  } finally {
    await service.close()
  }
})

test('closing the service while it waits gives the start up, and does not wait for its end', async () => {
  using folder = tempFolder()
  const settings = settingsOf(folder)
  await (await openLedger(settings, silentLog))[Symbol.asyncDispose]()
  const service = await startService({ settings, log: LOG, version: 'test' }, heldOpener().opener)
  await within(service.close(), 'the end')
  await (await openLedger(settings, silentLog))[Symbol.asyncDispose]()
})

/** With a log of its own that was signed, and whose file is then gone. */
async function withoutLogFile(folder: TempFolder): Promise<Settings> {
  const settings = settingsOf(folder)
  {
    await using opened = await openLedger(settings, silentLog)
    for (const id of ['r1', 'r2']) {
      const run = drive(opened, id)
      await run.start()
      for (let step = 0; step < 5; step += 1) await run.hand('a', { step })
    }
    await opened.ledger.logs?.publish()
  }
  rmSync(folder.file('data/log.db'))
  return settings
}

test('a start without the file of the logs reports that it reads the whole store before it does, and can be given up at any time', async () => {
  using folder = tempFolder()
  const settings = await withoutLogFile(folder)
  const stop = new AbortController()
  const waiting: Waiting = {
    signal: stop.signal,
    onAway: () => undefined,
    onCatchUp: () => stop.abort(new Error('given up')),
  }
  const error = await openLedger(settings, silentLog, waiting).then(
    () => undefined,
    (thrown: Error) => thrown,
  )
  assert.is(error?.message, 'given up')
  // What it had read is neither lost nor taken for the whole.
  await using opened = await openLedger(settings, silentLog)
  await opened.ledger.logs?.publish()
  assert.ok((opened.ledger.logs?.state('acme')?.size ?? 0) >= 12)
})

test.run()
