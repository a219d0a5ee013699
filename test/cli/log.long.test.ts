import { once } from 'node:events'
import { copyFileSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { serveWitness } from '../../src/cli/witness.ts'
import { openWitness } from '../../src/cli/witness-state.ts'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { parseCheckpoint } from '../../src/merkle/checkpoint.ts'
import { leafHash } from '../../src/merkle/hashes.ts'
import { verifyInclusion } from '../../src/merkle/inclusion.ts'
import { parseVerifierKey } from '../../src/merkle/note-key.ts'
import { parseTlogProof } from '../../src/merkle/tlog-proof.ts'
import { readSettings } from '../../src/settings/config.ts'
import { requireKeys } from '../../src/settings/key-source.ts'
import { openSqliteReader } from '../../src/store/sqlite/sqlite-reader.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { type CommandResult, countersign } from '../support/command-line.ts'
import { rewritten } from '../support/rewrite.ts'
import { rowsOf, tamper } from '../support/tamper.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'
import { openedCheckpoint } from '../support/test-logs.ts'

const test = suite('cli: checkpoint, proof, verify --checkpoint')

const CALLER = { tenant: 'acme', actor: 'tester' }

interface Site extends Disposable {
  readonly folder: TempFolder
  /** Runs countersign on the data folder. */
  readonly run: (...args: readonly string[]) => Promise<CommandResult>
}

/** A ledger of two runs that ended in order, which signs its last checkpoint; the checkpoint was taken to `kept.txt`. */
async function site(): Promise<Site> {
  const folder = tempFolder()
  await addRuns(folder, ['one', 'two'])
  const run = (...args: readonly string[]) => countersign([...args, '--data', folder.path], { cwd: folder.path })
  const { stdout } = await run('checkpoint', '--tenant', 'acme')
  writeFileSync(folder.file('kept.txt'), stdout)
  return { folder, run, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

async function addRuns(folder: TempFolder, runIds: readonly string[]): Promise<void> {
  await using opened = await openLedger(readSettings({ data: folder.path }, {}), silentLog)
  for (const runId of runIds) {
    await opened.ledger.execute(CALLER, runId, { kind: 'start', body: { id: runId, name: 'try' } }, {})
    for (let step = 0; step < 3; step += 1) {
      const body = { agent: 'writer', payload: { note: `step ${step}` } }
      await opened.ledger.execute(CALLER, runId, { kind: 'envelope', body }, {})
    }
  }
}

const held = (at: Site) => at.run('verify', '--checkpoint', at.folder.file('kept.txt'))
const cut = (folder: TempFolder, where: string) =>
  tamper(folder.file('store.db'), (db) => {
    db.exec(`DELETE FROM events WHERE ${where}`)
    db.exec('DELETE FROM streams WHERE id NOT IN (SELECT stream_id FROM events)')
  })

test('the last checkpoint is printed as it was signed, and opens under the key that is printed', async () => {
  using at = await site()
  const { stdout: note, code } = await at.run('checkpoint', '--tenant', 'acme')
  const { stdout: key } = await at.run('checkpoint', '--tenant', 'acme', '--key')
  assert.is(code, 0)
  assert.is(parseCheckpoint(openedCheckpoint(note, key.trim()))?.size, 8)
  assert.is((await at.run('checkpoint', '--tenant', 'nobody')).code, 3)
  assert.is((await at.run('checkpoint', '--tenant', 'system')).code, 0)
})

test('the proof of an event is checked with the verifier key alone', async () => {
  using at = await site()
  const { stdout: key } = await at.run('checkpoint', '--tenant', 'acme', '--key')
  const row = rowsOf(at.folder.file('store.db')).find(
    ({ stream, revision }) => stream === 'run-acme.two' && revision === 2,
  )
  if (row === undefined) throw new Error('no such event')
  const { id } = JSON.parse(row.header) as { id: string }
  const { stdout, code } = await at.run('proof', id, '--tenant', 'acme')
  assert.is(code, 0)
  const proof = parseTlogProof(stdout)
  const checkpoint = proof && parseCheckpoint(openedCheckpoint(proof.checkpoint, key.trim()))
  if (checkpoint === undefined || proof === undefined) throw new Error('no proof')
  const { size, root } = checkpoint
  assert.ok(verifyInclusion({ index: proof.index, size, leaf: leafHash(row.header), proof: proof.hashes, root }))
  assert.is((await at.run('proof', '0190f0f0-0000-7000-8000-000000000000', '--tenant', 'acme')).code, 3)
  assert.is((await at.run('proof', 'x')).code, 2)
})

test('an unharmed store that has grown since verifies against an earlier checkpoint', async () => {
  using at = await site()
  await addRuns(at.folder, ['three'])
  const { code, stdout } = await held(at)
  assert.is(code, 0, stdout)
})

test('a cut tail, which verifies by itself where all that knew of it is cut too, is INCOMPLETE against a checkpoint stored elsewhere (A29)', async () => {
  using at = await site()
  cut(at.folder, 'position > 7')
  const { stdout: known } = await at.run('verify')
  assert.match(known, /end-missing/)
  forgetBeside(at)
  tamper(at.folder.file('store.db'), (db) => db.exec('UPDATE head SET position = 7'))
  assert.is((await at.run('verify')).code, 0)
  const { code, stdout } = await held(at)
  assert.is(code, 3)
  assert.match(stdout, /INCOMPLETE.*log-behind-checkpoint.*covers 8 events/)
})

test('a run that vanished is seen against a checkpoint stored elsewhere, also where the ledger went on (A30)', async () => {
  using at = await site()
  cut(at.folder, "stream_id = (SELECT id FROM streams WHERE name = 'run-acme.two')")
  assert.is((await held(at)).code, 1)
  assert.match((await held(at)).stdout, /log-behind-checkpoint/)
})

/** Whoever can write the store can drop what lies beside it. */
function forgetBeside({ folder }: Site): void {
  for (const name of ['store.db.checkpoints', 'log.db', 'log.db-wal', 'log.db-shm', 'log.db.sealed'])
    rmSync(folder.file(name), { force: true })
}

/** The site's history, told otherwise by somebody who holds the key ring. */
async function forge({ folder }: Site, checkpoints: 'dropped' | 'kept'): Promise<void> {
  const keys = requireKeys({ kind: 'file', path: folder.file('keys.json') })
  {
    using reader = openSqliteReader({ path: folder.file('store.db') })
    await using forged = await openSqliteStore({ path: folder.file('forged.db') })
    await rewritten(reader, keys, forged, { checkpoints })
  }
  for (const suffix of ['', '-wal', '-shm']) {
    rmSync(folder.file(`store.db${suffix}`), { force: true })
    const forged = folder.file(`forged.db${suffix}`)
    if (existsSync(forged)) renameSync(forged, folder.file(`store.db${suffix}`))
  }
}

test('a history that the holder of the key wrote anew does not fit the checkpoints on record (A31)', async () => {
  using at = await site()
  await forge(at, 'kept')
  const { code, stdout } = await at.run('verify')
  assert.is(code, 1)
  assert.match(stdout, /TAMPERED.*recorded-checkpoint.*are not those that come before it/)
})

test('a history that the holder of the key wrote anew, without its checkpoints, verifies by itself, and not against one stored elsewhere (A31)', async () => {
  using at = await site()
  await forge(at, 'dropped')
  forgetBeside(at)
  assert.is((await at.run('verify')).code, 0)
  const { code, stdout } = await held(at)
  assert.is(code, 1)
  assert.match(stdout, /TAMPERED.*checkpoint-mismatch/)
})

test('a witness cosigns the checkpoint, follows the log by proof, and refuses a fork of it (A32)', async () => {
  using at = await site()
  using memory = tempFolder()
  const { stdout: logKey } = await at.run('checkpoint', '--tenant', 'acme', '--key')
  const verifier = parseVerifierKey(logKey.trim())
  if (verifier === undefined) throw new Error('no key')
  const opened = openWitness({ folder: memory.path, name: 'witness.example', verifiers: [verifier] })
  const server = serveWitness(opened).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const post = () => at.run('checkpoint', '--tenant', 'acme', '--witness', url, '--witness-key', opened.verifierKey)
  try {
    for (const more of ['three', 'four']) {
      const { code, stdout } = await post()
      assert.is(code, 0)
      assert.ok(openedCheckpoint(stdout, opened.verifierKey) === openedCheckpoint(stdout, logKey.trim()))
      await addRuns(at.folder, [more])
    }
    assert.is((await post()).code, 0)
    cut(at.folder, 'position > 20')
    assert.is((await post()).code, 3)
  } finally {
    server.close()
    server.closeAllConnections()
  }
  assert.is((await post()).code, 4)
})

test('a checkpoint of another key, another log or another spelling proves nothing: exit 3', async () => {
  using at = await site()
  using other = await site()
  copyFileSync(other.folder.file('kept.txt'), at.folder.file('kept.txt'))
  assert.is((await held(at)).code, 3)
  for (const text of ['', 'nothing', 'a b\n1\nx\n']) {
    writeFileSync(at.folder.file('kept.txt'), text)
    assert.is((await held(at)).code, 3, text)
  }
})

test.run()
