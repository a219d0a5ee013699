import { chmodSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openWebhook } from '../../src/compose/webhook-settings.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { type Flags, readSettings } from '../../src/settings/config.ts'
import { parseSecrets } from '../../src/webhooks/signed-headers.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('the settings of the webhook')
const folder = tempFolder()
test.after(() => folder[Symbol.dispose]())

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

function secretsFile(text: string, mode = 0o600): string {
  const path = folder.file(`secrets-${Math.random()}`)
  writeFileSync(path, text)
  chmodSync(path, mode)
  return path
}

function fault(flags: Flags): string {
  try {
    const settings = readSettings({ data: folder.path, 'webhook-secrets': secretsFile(SECRET), ...flags }, {})
    openWebhook(settings, silentLog, 'test')?.[Symbol.dispose]()
    return ''
  } catch (error) {
    assert.is((error as { code?: string }).code, 'settings-invalid', `${error}`)
    return (error as Error).message
  }
}

test('a webhook is dialled by https, by http on this machine alone, and at an address only where it is allowed (HTTP-15, A203)', () => {
  const good = [
    'https://hooks.example.com/a?b=c',
    'http://127.0.0.1:9000/',
    'http://localhost:9000/',
    'http://[::1]:9000/',
  ]
  for (const webhook of good) assert.is(fault({ webhook }), '', webhook)
  assert.is(fault({ webhook: 'https://10.1.2.3/', 'webhook-allow': '10.0.0.0/8, fd00::/8' }), '')
  const bad: readonly (readonly [Flags, RegExp])[] = [
    [{ webhook: 'http://hooks.example.com/' }, /takes https/],
    [{ webhook: 'http://10.0.0.1/' }, /takes https/],
    [{ webhook: 'http://127.0.0.1.example.com/' }, /takes https/],
    [{ webhook: 'https://169.254.169.254/latest' }, /webhook-allow/],
    [{ webhook: 'https://[fd00::1]/' }, /webhook-allow/],
    [{ webhook: 'https://me:pass@hooks.example.com/' }, /leave the user out/],
    [{ webhook: 'ftp://hooks.example.com/' }, /begins with https/],
    [{ webhook: 'hooks' }, /begins with https/],
    [{ webhook: 'https://hooks.example.com/', 'webhook-allow': '10.0.0.0/99' }, /no CIDR block/],
    [{ webhook: 'https://hooks.example.com/', 'webhook-events': 'approval.requested,run.ended' }, /takes names out of/],
    [{ webhook: 'https://hooks.example.com/', 'public-url': 'ledger' }, /begins with https/],
  ]
  for (const [flags, pattern] of bad) {
    const said = fault(flags)
    assert.match(said, pattern)
    assert.match(said, /^(COUNTERSIGN_|--)/)
    assert.not.match(said, /me:pass|\n/)
  }
})

test('secrets are 24 to 64 bytes, in a file that nobody else may read; a fault shows none of them (HTTP-14)', () => {
  const webhook = 'https://hooks.example.com/'
  assert.match(fault({ webhook, 'webhook-secrets': folder.file('none') }), /cannot be read/)
  assert.match(fault({ webhook, 'webhook-secrets': folder.path }), /no file of secrets|cannot be read/)
  assert.match(fault({ webhook, 'webhook-secrets': secretsFile(SECRET, 0o644) }), /chmod 600/)
  const noList = ['', 'hunter2', SECRET.replace('whsec_', ''), `${SECRET}\nwhsec_c2hvcnQ=`, `${SECRET}\n`.repeat(5)]
  for (const text of noList) {
    const said = fault({ webhook, 'webhook-secrets': secretsFile(text) })
    assert.match(said, /no list of 1 to 4 secrets/)
    assert.not.match(said, /hunter2|c2hvcnQ|BwcHBw/)
  }
  assert.is(parseSecrets(`\n${SECRET}\r\n${SECRET}\n\n`)?.length, 2)
  const { webhook: unset } = readSettings({ data: folder.path, webhook: 'https://hooks.example.com/' }, {})
  assert.is(unset?.secrets, undefined)
  assert.throws(
    () => openWebhook(readSettings({ data: folder.path, webhook }, {}), silentLog, 'test'),
    /WEBHOOK_SECRETS: --webhook needs a file of secrets/,
  )
})

test.run()
