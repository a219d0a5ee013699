/** @module Macs: HMAC-SHA-256 over `countersign/event/v1\n` and the header without its mac, under the run's own key. */

import * as crypto from 'node:crypto'
import type { Header } from '../../../schemas/header.ts'
import type { SealedEvent } from './gathered.ts'
import type { BundleOptions, RunKeyFile } from './options.ts'
import type { Found } from './verdict.ts'

/** `keyFor` a header: undefined where nothing is to be checked, null where there must be a key and is none. */
export function macCheck(
  { runKey, keyFor = runKey && keysOf(runKey) }: BundleOptions,
  found: Found,
): (event: SealedEvent) => boolean {
  if (keyFor === undefined)
    found.notes.push('macs were not checked: they need the key of a run; what is above needs none')
  return ({ headerText, header }) => {
    const key = keyFor?.(header)
    if (key === undefined || key === null) return key === undefined
    found.macs += 1
    const unsealed = headerText.replace(`,"mac":"${header.mac}"`, '')
    const computed = crypto.createHmac('sha256', key).update(`countersign/event/v1\n${unsealed}`).digest()
    return computed.toString('base64url') === header.mac
  }
}

function keysOf({ stream, keys }: RunKeyFile): (header: Pick<Header, 'stream' | 'kid'>) => Buffer | null | undefined {
  const secrets = new Map(keys.map(({ kid, key }) => [kid, Buffer.from(key, 'base64url')]))
  return (header) => (header.stream === stream ? (secrets.get(header.kid) ?? null) : undefined)
}
