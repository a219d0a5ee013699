/** @module `countersign rebuild`: drops the views, which are made anew from the store. */
import { dropViews } from '../compose.ts'
import { readArguments } from './arguments.ts'
import { EXIT } from './failure.ts'

export async function rebuild(args: readonly string[]): Promise<number> {
  const { settings } = readArguments(args, { settings: ['data', 'store'] })
  dropViews(settings)
  process.stderr.write('the views are dropped; the next start makes them anew from the store\n')
  return EXIT.ok
}
