/** @module The API of a ledger to write to: the one at `--url`, or the store itself, which this command owns meanwhile. */
import { openLedger, readIdentity } from '../compose/compose.ts'
import { silentLog } from '../ledger/effects.ts'
import type { Settings } from '../settings/config.ts'
import { type Api, apiOver, applicationOver, type LocalCaller, remoteApi, tenantOf } from './api.ts'
import type { Arguments } from './arguments.ts'
import { noLedgerHere } from './failure.ts'

/** `settings`: those of the command, unless the store is opened in another way. `caller` is the identity used when the store itself is written to. If another process owns the store, the error names its address. */
export async function openWritingApi(
  args: Arguments,
  caller: LocalCaller = {},
  settings: Settings = args.settings,
): Promise<Api> {
  if (args.text('url') !== undefined) return remoteApi(args)
  const tenant = tenantOf(args.text('tenant'))
  // Opening would found a ledger in an empty store. Of a damaged store, whose losses are acknowledged, the founding event may be lost.
  if (settings.acknowledges !== true && (await readIdentity(settings)) === undefined) throw noLedgerHere()
  const opened = await openLedger(settings, silentLog)
  const held = { ledger: opened.ledger, keys: opened.keys.current() }
  const { token, fetch } = await applicationOver(held, tenant, caller)
  return apiOver({ url: 'http://localhost', token, fetch, retries: 0 }, async () => {
    await opened[Symbol.asyncDispose]()
  })
}
