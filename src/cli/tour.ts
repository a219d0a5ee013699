/** @module `countersign tour`: everything the ledger is for, on a temporary store, in under a minute and without a server. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger } from '../compose.ts'
import { readSettings } from '../config.ts'
import { EXIT } from './failure.ts'
import { painter } from './terminal.ts'
import { Tour } from './tour-run.ts'
import { tamper } from './tour-tamper.ts'
import { verify } from './verify.ts'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Exit code 0 where the ledger did all that the tour says it does. */
export async function tour(_args: readonly string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-tour-'))
  const settings = readSettings({ data: folder }, {})
  const paint = painter(process.stdout)
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  try {
    say(paint('A ledger on a temporary store; a run of three agents', 'bold'))
    const opened = await openLedger(settings, silent)
    const walk = new Tour(opened.ledger, say, paint)
    await walk.handoffs()
    await walk.idempotentCall()
    await walk.budget()
    await walk.rollback()
    await walk.replay()
    await opened[Symbol.asyncDispose]()

    say(paint('\n6. Anyone who holds the keys verifies the file, offline', 'bold'))
    const whole = await verify(['--data', folder])
    say(paint('\n7. One byte of the file is changed behind its back', 'bold'))
    say(`   ${tamper(join(folder, 'store.db'))}`)
    const broken = await verify(['--data', folder])
    const asTold = walk.failures.length === 0 && whole === EXIT.ok && broken === EXIT.tampered
    for (const failure of walk.failures) say(paint(`unexpected: ${failure}`, 'red'))
    say(asTold ? '\nNext: npm start, and the README' : paint('\nThe tour did not go as it should', 'red'))
    return asTold ? EXIT.ok : EXIT.failed
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
