/** @module The webhook settings (target, allowed addresses, secrets), checked before anything is opened. */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { realEffects } from '../ledger/effects.ts'
import type { Log } from '../ledger/ports.ts'
import type { Settings, WebhookSettings } from '../settings/config.ts'
import { guardedTarget } from '../settings/guarded-target.ts'
import { WEBHOOK_FILE } from '../settings/places.ts'
import { reasonOf } from '../settings/reason-of.ts'
import { variableOf } from '../settings/settings.ts'
import { SettingsError } from '../settings/settings-error.ts'
import { type WatchedFile, watchFile } from '../settings/watch-file.ts'
import { isOpenToOthers } from '../signing/key-file.ts'
import { progressFile } from '../webhooks/delivery-progress.ts'
import { type PostDelivery, postDelivery } from '../webhooks/post-delivery.ts'
import { parseSecrets } from '../webhooks/signed-headers.ts'
import { WebhookDeliveries } from '../webhooks/webhook-deliveries.ts'
import type { OpenLedger } from './compose.ts'

const SECRETS_MAX_BYTES = 4_096

export interface Webhook extends Disposable {
  /** Delivers until disposed, which must happen before the ledger is disposed. */
  readonly deliver: (opened: Pick<OpenLedger, 'ledger'>) => WebhookDeliveries
}

/** Undefined if no webhook is configured. Throws `SettingsError` for unusable settings. */
export function openWebhook(settings: Settings, log: Log, version: string): Webhook | undefined {
  const { webhook, data, store } = settings
  if (webhook === undefined) return undefined
  const post = postTo(webhook, version)
  const secrets = watchSecrets(webhook, log)
  const { publicUrl, events } = webhook
  const path = store.kind === 'memory' ? undefined : join(data, WEBHOOK_FILE)
  return {
    deliver: ({ ledger }) =>
      new WebhookDeliveries({
        notices: ledger.notices,
        ledgerId: ledger.ledgerId,
        publicUrl,
        post,
        secrets: secrets.current,
        events: new Set(events),
        progress: progressFile(path),
        log,
        effects: realEffects(),
      }),
    [Symbol.dispose]: () => secrets[Symbol.dispose](),
  }
}

function postTo({ url, allow }: WebhookSettings, version: string): PostDelivery {
  const target = guardedTarget({
    url,
    allow,
    setting: 'webhook',
    allowIn: '--webhook-allow',
    plain: 'so that what it is told cannot be read or altered on the way',
  })
  return postDelivery({ url, version, allow: target })
}

function watchSecrets({ secrets: path }: WebhookSettings, log: Log): WatchedFile<readonly Uint8Array[]> {
  if (path === undefined)
    throw new SettingsError(
      `${variableOf('webhook-secrets')}: --webhook needs a file of secrets, one whsec_<base64> a line`,
    )
  return watchFile({
    path,
    value: readSecrets(path),
    read: readSecrets,
    onError: (error) =>
      log.error(
        { reason: reasonOf(error) },
        'the secrets of the webhook cannot be read again: those of before stay in use; mend the file',
      ),
  })
}

/** Throws `SettingsError`, whose message contains no secret. */
function readSecrets(path: string): readonly Uint8Array[] {
  const fault = (what: string) => new SettingsError(`${variableOf('webhook-secrets')}: ${path} ${what}`)
  let file: number
  try {
    file = openSync(path, 'r')
  } catch {
    throw fault('cannot be read')
  }
  try {
    const status = fstatSync(file)
    if (!status.isFile() || status.size > SECRETS_MAX_BYTES) throw fault('is no file of secrets')
    if (isOpenToOthers(status)) throw fault(`is open to other users; run: chmod 600 ${path}`)
    const secrets = parseSecrets(readFileSync(file, 'utf8'))
    if (secrets === undefined) throw fault('is no list of 1 to 4 secrets, one whsec_<base64 of 24 to 64 bytes> a line')
    return secrets
  } finally {
    closeSync(file)
  }
}
