/** @module The headers of a delivery according to Standard Webhooks 1.0.0: id, time of the attempt, and one signature per secret. */
import { createHmac } from 'node:crypto'

/** Limits of a secret in bytes, from the specification. */
const SECRET_MIN_BYTES = 24
const SECRET_MAX_BYTES = 64
/** Several secrets are used while the receiver rotates them. */
const SECRETS_MAX = 4
const PREFIX = 'whsec_'

export interface Signed {
  readonly id: string
  readonly atSeconds: number
  readonly body: string
}

/** `webhook-signature` holds one `v1,<base64>` per secret, separated by spaces: HMAC-SHA-256 over `id.timestamp.body`. */
export function signedHeaders({ id, atSeconds, body }: Signed, secrets: readonly Uint8Array[]): Record<string, string> {
  const content = `${id}.${atSeconds}.${body}`
  const signatures = secrets.map((secret) => `v1,${createHmac('sha256', secret).update(content).digest('base64')}`)
  return { 'webhook-id': id, 'webhook-timestamp': `${atSeconds}`, 'webhook-signature': signatures.join(' ') }
}

/** The secrets of a file, one `whsec_<base64>` per line; undefined if there are none, too many, or a line is not a valid secret. */
export function parseSecrets(text: string): readonly Uint8Array[] | undefined {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const secrets = lines.flatMap((line) => secretIn(line) ?? [])
  const isComplete = secrets.length === lines.length && secrets.length > 0 && secrets.length <= SECRETS_MAX
  return isComplete ? secrets : undefined
}

function secretIn(line: string): Uint8Array | undefined {
  const text = line.slice(PREFIX.length)
  if (!line.startsWith(PREFIX) || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.length >= SECRET_MIN_BYTES && bytes.length <= SECRET_MAX_BYTES ? bytes : undefined
}
