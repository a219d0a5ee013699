/** @module Opens the runtime on a ledger in this process, or on the ledger that the environment variables name. */
import type { ServeAddress } from '../compose/embedded.ts'
import { type Codec, type CodecValues, checkedCodecs } from './calls/codecs.ts'
import { RUNTIME } from './check-ledger.ts'
import { connect } from './connect.ts'
import { AgentError } from './errors.ts'
import { checkedPrices } from './models/price-table.ts'
import { aName, checkOptions, names, type OptionRules, text } from './option-rules.ts'
import { type Countersign, createRuntime, type RuntimeOptions } from './runtime/runtime.ts'

/** The location of the ledger in this process and the identity of its writer, together with the settings of the runtime. */
export interface OpenOptions<C extends readonly Codec[] = readonly []> extends RuntimeOptions<C> {
  /** The data folder; default `./.countersign`. `:memory:` keeps everything in memory, for tests. */
  readonly path?: string
  /** The actor that events are written as; default `local`. */
  readonly actor?: string
  /** Tenant; default `default`. */
  readonly tenant?: string
  /**
   * A port, and optionally a host (default 127.0.0.1), at which the same ledger's API and pages are served until it is closed; 0 selects a free port. `url`
   * holds the resulting address. Sign in with `countersign token`.
   */
  readonly serve?: number | { readonly port: number; readonly host?: string }
  /** Roles of the actor, for approvals that require a role. */
  readonly roles?: readonly string[]
}

const OPEN: OptionRules<OpenOptions> = {
  ...RUNTIME,
  path: text,
  actor: aName,
  tenant: text,
  // Further errors in the value are reported by `addressOf`, as `invalid-serve`.
  serve: (value) => (value === null ? 'a port, or { port, host }' : undefined),
  roles: names(Number.POSITIVE_INFINITY),
}

const PATH_DEFAULT = '.countersign'
const LOOPBACK = '127.0.0.1'
const PORT_MAX = 65_535

/**
 * Opens a ledger in this process, without a server. There is one handle per store: a second `open` shares it, and it is closed with its last user. Throws
 * `StoreOpenError` (`store-locked`), with the server's URL, if another process owns the store, and `serve-failed` if the address of `serve` is not available;
 * in that case nothing stays open.
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
): Promise<Countersign<CodecValues<C>>> {
  checkOptions('open', options, OPEN)
  const { path = PATH_DEFAULT, actor = 'local', tenant = 'default', roles, serve, ...settings } = options
  const address = serve === undefined ? undefined : addressOf(serve, path)
  if (settings.prices !== undefined) checkedPrices(settings.prices)
  checkedCodecs(settings.codecs)
  const caller = { tenant, actor, ...(roles !== undefined && { roles }) }
  // Imported lazily: a program that only connects to a remote ledger must not load the ledger's code.
  const { ledgerHere } = await import('./ledger-here.ts')
  return createRuntime(await ledgerHere({ path, caller, address }), settings)
}

/** The address to serve at. Throws `invalid-serve`. */
function addressOf(serve: NonNullable<OpenOptions['serve']>, path: string): ServeAddress {
  const { port, host = LOOPBACK } = typeof serve === 'number' ? { port: serve } : serve
  if (!Number.isInteger(port) || port < 0 || port > PORT_MAX || host === '')
    throw new AgentError(
      'invalid-serve',
      `serve takes a port from 0 to ${PORT_MAX}, or { port, host }, not ${JSON.stringify(serve)}`,
    )
  if (path === ':memory:')
    throw new AgentError(
      'invalid-serve',
      'a ledger in memory keeps no keys, so no token could be issued for it: open it with a path',
    )
  return { port, host }
}

/**
 * With `COUNTERSIGN_URL` and `COUNTERSIGN_TOKEN`: connects to a ledger behind HTTP. Otherwise opens one in this process from `COUNTERSIGN_DATA`,
 * `COUNTERSIGN_ACTOR` and `COUNTERSIGN_TENANT`; the default data folder is `./.countersign`.
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
): Promise<Countersign<CodecValues<C>>> {
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
