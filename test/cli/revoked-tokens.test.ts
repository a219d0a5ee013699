import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runInProcess } from '../support/in-process-command.ts'
import { servedLedger } from '../support/served-ledger.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: revoked tokens')

test('token revoke says whether the token was known, and token revoked lists both, at --url and over the store (HTTP-82, HTTP-83)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  const issued = '0190f0f0-0000-7000-8000-000000000001'
  const of = ['--tenant', 'acme', '--data', data]
  {
    await using served = await servedLedger(data, 'acme')
    const token = { token: issued, kid: 'k', subject: 's', forTenant: 'acme', scopes: ['admin'] }
    const times = { issuedAt: '2026-01-01T00:00:00.000Z', expires: '2026-01-01T01:00:00.000Z' }
    await served.opened.ledger.service.tokenIssued({ v: 1, ...token, ...times })
    for (const [id, known] of [
      [issued, true],
      ['mistyped', false],
    ] as const) {
      const { code, stdout, stderr } = await runInProcess(['token', 'revoke', id, ...served.there])
      assert.equal(
        [code, JSON.parse(stdout).known, stderr.includes('no token with this id')],
        [0, known, !known],
        stderr,
      )
    }
    const listed = await runInProcess(['token', 'revoked', ...served.there])
    const ids = listed.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).token)
    assert.equal([listed.code, ids], [0, ['mistyped', issued]])
  }
  const made = await runInProcess(['token', '--scope', 'runs:read', ...of])
  const claims = JSON.parse(Buffer.from(made.stdout.split('.')[1] ?? '', 'base64url').toString('utf8'))
  const noted = await runInProcess(['token', 'revoke', claims.jti, ...of])
  assert.equal([noted.code, JSON.parse(noted.stdout).known, noted.stderr], [0, true, ''], noted.stderr)
  const listed = await runInProcess(['token', 'revoked', ...of])
  assert.equal([listed.code, listed.stdout.trimEnd().split('\n').length], [0, 3])
  assert.match(listed.stdout, new RegExp(`"token":"${claims.jti}","revokedBy":"local"`))
})

test.run()
