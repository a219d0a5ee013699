import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runInProcess } from '../support/in-process-command.ts'
import { inspectedLedger } from '../support/inspected-ledger.ts'
import { startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: token revoke')

test('a token that is revoked at a running ledger, or over its store, is refused by the ledger and after its restart; another one is not (HTTP-82, HTTP-84)', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  const data = folder.file('.countersign')
  await inspectedLedger(data)
  const issued = async (): Promise<{ readonly token: string; readonly id: string }> => {
    const { stdout } = await runInProcess(['token', '--scope', 'audit:read admin', '--json'], { cwd })
    const { token } = JSON.parse(stdout) as { token: string }
    const claims = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')
    return { token, id: (JSON.parse(claims) as { jti: string }).jti }
  }
  const [first, second, third] = [await issued(), await issued(), await issued()]
  const codeOf = async (url: string, token: string) =>
    (await runInProcess(['runs', 'list', '--url', url, '--token', token], { cwd })).code
  {
    await using server = await startServer({ data })
    assert.is(await codeOf(server.url, first.token), 0)
    const there = ['--url', server.url, '--token', third.token]
    const whole = await runInProcess(['token', 'revoke', first.token, ...there], { cwd })
    assert.equal([whole.code, whole.stdout], [2, ''], 'a token is no id')
    const revoked = await runInProcess(['token', 'revoke', first.id, '--reason', 'it was in a log', ...there], { cwd })
    assert.is(revoked.code, 0, revoked.stderr)
    assert.is(JSON.parse(revoked.stdout).token, first.id)
    assert.is(await codeOf(server.url, first.token), 1)
    assert.is(await codeOf(server.url, second.token), 0)
  }
  assert.is((await runInProcess(['token', 'revoke', second.id], { cwd })).code, 0)
  await using server = await startServer({ data })
  for (const { token, code } of [
    { ...first, code: 1 },
    { ...second, code: 1 },
    { ...third, code: 0 },
  ])
    assert.is(await codeOf(server.url, token), code)
  assert.is((await runInProcess(['verify'], { cwd })).code, 0)
})

test.run()
