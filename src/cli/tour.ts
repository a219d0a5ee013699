/** @module `countersign tour`: shows all main functions of the ledger on a temporary store, in under a minute and without a server. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger } from '../compose/compose.ts'
import { readSettings } from '../settings/config.ts'
import { isOnServer, KEY_FILE } from '../settings/places.ts'
import { createLedgerKeys, writeNewKeyFile } from '../signing/key-file.ts'
import { type Arguments, argumentsOf } from './arguments.ts'
import { EXIT } from './failure.ts'
import { type Paint, painter } from './terminal.ts'
import { Tour } from './tour-run.ts'
import { tamper } from './tour-tamper.ts'
import { verify } from './verify.ts'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Exit code 0 if every step went as announced. A store on a server must be empty, and keeps the tour's run. */
export async function tour({ text }: Arguments): Promise<number> {
  const store = text('store')
  const folder = mkdtempSync(join(tmpdir(), 'countersign-tour-'))
  const settings = readSettings({ data: folder, store }, {})
  const paint = painter(process.stdout)
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  try {
    const onServer = isOnServer(settings.store)
    say(paint(`A ledger on ${onServer ? 'a server' : 'a temporary store'}; a run of three agents`, 'bold'))
    if (onServer) makeKeys(join(folder, KEY_FILE))
    const opened = await openLedger(settings, silent)
    const walk = new Tour(opened.ledger, say, paint)
    await walk.handoffs()
    await walk.idempotentCall()
    await walk.budget()
    await walk.rollback()
    await walk.replay()
    await opened[Symbol.asyncDispose]()

    say(paint('\n6. Anyone who holds the keys verifies the store, offline', 'bold'))
    const whole = await verify(argumentsOf({ data: folder, ...(onServer && { store }) }, [], {}))
    const broken = onServer ? EXIT.tampered : await tamperAndVerify(folder, say, paint)
    const asTold = walk.failures.length === 0 && whole === EXIT.ok && broken === EXIT.tampered
    for (const failure of walk.failures) say(paint(`unexpected: ${failure}`, 'red'))
    say(asTold ? '\nNext: npm start, and the README' : paint('\nThe tour did not go as it should', 'red'))
    return asTold ? EXIT.ok : EXIT.failed
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function tamperAndVerify(folder: string, say: (line: string) => void, paint: Paint): Promise<number> {
  say(paint('\n7. One byte of the file is changed behind its back', 'bold'))
  say(`   ${tamper(join(folder, 'store.db'))}`)
  return await verify(argumentsOf({ data: folder }, [], {}))
}

/** A file store creates its own keys; a store on a server needs them supplied. */
function makeKeys(path: string): void {
  writeNewKeyFile(path, createLedgerKeys(new Date().toISOString(), randomBytes))
}
