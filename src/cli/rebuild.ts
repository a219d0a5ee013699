/** @module `countersign rebuild`: drops the views, which are rebuilt from the store. */
import { existsSync } from 'node:fs'
import { dropViews } from '../compose/compose.ts'
import type { Arguments } from './arguments.ts'
import { EXIT, noLedgerHere } from './failure.ts'
import { jsonLine } from './shown.ts'

export async function rebuild({ settings, has }: Arguments): Promise<number> {
  const { store } = settings
  if (store.kind === 'sqlite' && !existsSync(store.path)) throw noLedgerHere()
  dropViews(settings)
  if (has('json')) process.stdout.write(jsonLine({ dropped: 'views' }))
  process.stderr.write('the views are dropped; the next start rebuilds them from the store\n')
  return EXIT.ok
}
