/** @module The runtime on a ledger in this process, or on what the environment names. */
import { openEmbedded } from '../embedded.ts'
import { STORE_OWNER } from '../lease-owner.ts'
import type { Codec, Kept } from './calls/codecs.ts'
import { connect } from './connect.ts'
import { AgentError } from './errors.ts'
import { checkedPrices } from './models/price-table.ts'
import { ledgerConnection } from './runtime/ledger-connection.ts'
import { type Countersign, createRuntime, type RuntimeOptions } from './runtime/runtime.ts'

/** Where the ledger of this process is and who writes to it, with the settings of the runtime. */
export interface OpenOptions<C extends readonly Codec[] = readonly []> extends RuntimeOptions<C> {
  /** The data folder; default `./.countersign`. `:memory:` keeps everything in this process, for tests. */
  readonly path?: string
  /** Who writes; default `local`. */
  readonly actor?: string
  /** Default `default`. */
  readonly tenant?: string
}

const PATH_DEFAULT = '.countersign'

/**
 * Opens a ledger in this process, without a server. One handle per store: opened again, it is shared and closed with its last user.
 * Throws `StoreOpenError` (`store-locked`), naming the server's URL, where another process owns the store.
 * @example
 * ```ts
 * import { open } from 'countersign/agent'
 *
 * await using cs = await open({ path: './ledger' })
 * const charge = cs.tool(async (cents: number) => ({ payment: 'p-1', cents }), { name: 'charge', compensate: 'not-needed' })
 * const paid = await cs.run({ name: 'order', id: 'order-1' }, async () => charge(2_500))
 * console.log(paid.payment)
 * ```
 */
export async function open<const C extends readonly Codec[] = readonly []>(
  options: OpenOptions<C> = {},
): Promise<Countersign<Kept<C>>> {
  const { path = PATH_DEFAULT, actor = 'local', tenant = 'default', ...settings } = options
  if (settings.prices !== undefined) checkedPrices(settings.prices)
  const { ledger, close } = await openEmbedded(path)
  return createRuntime(
    ledgerConnection({ ledger, caller: { tenant, actor }, place: path, owner: STORE_OWNER, close }),
    settings,
  )
}

/**
 * `COUNTERSIGN_URL` and `COUNTERSIGN_TOKEN`: a ledger behind HTTP. Else in this process: `COUNTERSIGN_DATA`, `COUNTERSIGN_ACTOR`,
 * `COUNTERSIGN_TENANT`, or with nothing set `./.countersign`.
 * @example
 * ```ts
 * import { fromEnv } from 'countersign/agent'
 *
 * await using cs = await fromEnv({ COUNTERSIGN_DATA: './ledger', COUNTERSIGN_ACTOR: 'billing' })
 * await cs.run({ name: 'hello' }, async () => 'done')
 * ```
 */
export async function fromEnv<const C extends readonly Codec[] = readonly []>(
  env: Readonly<Record<string, string | undefined>> = process.env,
  settings: RuntimeOptions<C> = {},
): Promise<Countersign<Kept<C>>> {
  const { COUNTERSIGN_URL: url, COUNTERSIGN_TOKEN: token } = env
  if (!url) {
    return open({
      ...(env.COUNTERSIGN_DATA && { path: env.COUNTERSIGN_DATA }),
      ...(env.COUNTERSIGN_ACTOR && { actor: env.COUNTERSIGN_ACTOR }),
      ...(env.COUNTERSIGN_TENANT && { tenant: env.COUNTERSIGN_TENANT }),
      ...settings,
    })
  }
  if (!token) throw new AgentError('setting-missing', 'COUNTERSIGN_URL is set: COUNTERSIGN_TOKEN must be, too')
  return connect({ url, token, ...settings })
}
