/** @module Opens the runtime on a ledger that is reached over HTTP. */
import { type ClientOptions, createClient } from '../client/client.ts'
import { keptFetch } from '../egress/kept-fetch.ts'
import type { Codec, CodecValues } from './calls/codecs.ts'
import { checkConnect } from './check-ledger.ts'
import { httpConnection } from './runtime/http-connection.ts'
import { type Countersign, createRuntime, type RuntimeOptions } from './runtime/runtime.ts'

/**
 * Returns a runtime on a ledger behind HTTP. Nothing is requested until the first run. Throws `invalid-prices`, `invalid-codec`. A later refusal by the ledger
 * throws `LedgerRefused`; an unreachable ledger throws `UnreachableError`.
 * @example
 * ```ts
 * import { connect } from 'countersign/agent'
 *
 * await using cs = connect({ url: process.env.COUNTERSIGN_URL ?? '', token: process.env.COUNTERSIGN_TOKEN ?? '' })
 * const answer = await cs.run({ name: 'hello' }, async (run) => run.once('draw', () => 7))
 * console.log(answer)
 * ```
 */
export function connect<const C extends readonly Codec[] = readonly []>(
  options: ClientOptions & RuntimeOptions<C>,
): Countersign<CodecValues<C>> {
  checkConnect(options)
  return createRuntime(httpConnection(createClient({ fetch: keptFetch(), ...options })), options)
}
