/** @module The runtime on a ledger behind HTTP. */
import { type ClientOptions, createClient } from '../client/client.ts'
import type { Codec, Kept } from './calls/codecs.ts'
import { httpConnection } from './runtime/http-connection.ts'
import { type Countersign, createRuntime, type RuntimeOptions } from './runtime/runtime.ts'

/** A ledger behind HTTP. Nothing is asked until the first run. */
export function connect<const C extends readonly Codec[] = readonly []>(
  options: ClientOptions & RuntimeOptions<C>,
): Countersign<Kept<C>> {
  return createRuntime(httpConnection(createClient(options)), options)
}
