/** @module `countersign rebuild`: drops the views, which are rebuilt from the store. */
import { dropViews } from '../compose/compose.ts'
import type { Arguments } from './arguments.ts'
import { EXIT } from './failure.ts'
import { jsonLine } from './shown.ts'

export async function rebuild({ settings, has }: Arguments): Promise<number> {
  dropViews(settings)
  if (has('json')) process.stdout.write(jsonLine({ dropped: 'views' }))
  process.stderr.write('the views are dropped; the next start rebuilds them from the store\n')
  return EXIT.ok
}
