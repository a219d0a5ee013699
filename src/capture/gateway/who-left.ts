/** @module Which side ended the connection of a client: the client, or this process as it shuts down. Pure. */

import { CLOSED_BY_US } from '../../resources/linked-signal.ts'

export function leftCode(gone: AbortSignal): 'client-gone' | 'gateway-ended' {
  return gone.reason === CLOSED_BY_US ? 'gateway-ended' : 'client-gone'
}

export function leftText(gone: AbortSignal): string {
  return gone.reason === CLOSED_BY_US ? 'the gateway was ended' : 'the client left'
}
