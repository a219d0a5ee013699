import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { decodeJwt } from 'jose'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { countersign } from '../support/command-line.ts'
import { foundLedger, runInProcess } from '../support/in-process-command.ts'
import { startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { eventually } from '../support/within.ts'

const keys = suite('cli: keys, token and validate')

keys('keys list shows which key seals, and no secret in any spelling (A37)', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  await foundLedger(cwd)
  await runInProcess(['keys', 'rotate'], { cwd })
  const file = readFileSync(folder.file('.countersign/keys.json'), 'utf8')
  const secrets = [...file.matchAll(/"(?:secret|d)": "([^"]+)"/g)].map(([, secret]) => secret ?? '')
  assert.is(secrets.length, 4)
  for (const args of [
    ['keys', 'list'],
    ['keys', 'list', '--json'],
  ]) {
    const { code, stdout, stderr } = await runInProcess(args, { cwd })
    assert.is(code, 0)
    for (const secret of secrets) assert.not.ok(`${stdout}${stderr}`.includes(secret))
    assert.match(stdout, /\+[0-9a-f]{8}\+/, 'the verifier key')
  }
  const listed = JSON.parse((await runInProcess(['keys', 'list', '--json'], { cwd })).stdout)
  assert.equal(
    listed.keys.map(({ use, current }: { use: string; current: boolean }) => [use, current]),
    [
      ['seal', false],
      ['seal', true],
      ['token', true],
    ],
  )
})

keys('the verifier key that is listed for a tenant is the one its checkpoints open under', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  await foundLedger(cwd)
  for (const tenant of ['default', 'acme']) {
    const listed = JSON.parse((await runInProcess(['keys', 'list', '--tenant', tenant, '--json'], { cwd })).stdout)
    const { stdout } = await runInProcess(['checkpoint', '--tenant', tenant, '--key'], { cwd })
    assert.is(listed.logKey, stdout.trim())
    assert.ok(listed.logKey.includes(`/${tenant}+`))
  }
})

keys(
  'a rotation is taken up by the running owner, and what it sealed before and after verifies (SEAL-10, SEAL-11)',
  async () => {
    using folder = tempFolder()
    const cwd = folder.path
    await using server = await startServer({ data: folder.file('.countersign') })
    const { code, stdout } = await runInProcess(['keys', 'rotate'], { cwd })
    assert.is(code, 0)
    const kid = stdout.trim()
    assert.is(statSync(folder.file('.countersign/keys.json')).mode & 0o777, 0o600)
    await eventually(() => (server.output.includes('key rotated') ? true : undefined), 'the new key')
    assert.ok(server.output.includes(kid))
    const verified = await runInProcess(['verify', '--json'], { cwd })
    assert.ok(JSON.parse(verified.stdout).events >= 2)
    assert.is(verified.code, 0)
  },
)

keys('a rotation beside another one is refused', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  await foundLedger(cwd)
  writeFileSync(folder.file('.countersign/keys.json.rotating'), '')
  const { code, stderr } = await runInProcess(['keys', 'rotate'], { cwd })
  assert.is(code, 1)
  assert.match(stderr, /rotating/)
})

keys('a folder that is not there is named with what to do, and is not made', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  for (const [command, said] of [
    ['keys rotate', /absent\/keys\.json does not exist; start the ledger once/],
    ['checkpoint', /absent\/store\.db cannot be opened: .*: name the folder/],
  ] as const) {
    const { code, stderr } = await runInProcess([...command.split(' '), '--data', 'absent'], { cwd })
    assert.is(code === 0, false, command)
    assert.match(stderr, said)
  }
  assert.is(existsSync(folder.file('absent')), false)
})

keys('a token has the claims that were requested', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  await foundLedger(cwd)
  const flags = ['--tenant', 'acme', '--sub', 'kim', '--act', 'bot', '--run', 'r1', '--agent', 'writer', '--ttl', '30m']
  const { stdout } = await runInProcess(['token', '--scope', 'runs:write runs:read', ...flags], { cwd })
  const { tenant, sub, act, run, agent, scope, iat = 0, exp = 0 } = decodeJwt(stdout.trim())
  assert.equal(
    { tenant, sub, act, run, agent, scope },
    {
      ...{ tenant: 'acme', sub: 'kim', act: { sub: 'bot' }, run: 'r1', agent: 'writer', scope: 'runs:write runs:read' },
    },
  )
  assert.is(exp - iat, 1_800)
})

keys('keys may come from the environment, as text', async () => {
  using folder = tempFolder()
  await foundLedger(folder.path)
  const text = readFileSync(folder.file('.countersign/keys.json'), 'utf8')
  const env = { COUNTERSIGN_KEYS: text }
  const { code } = await runInProcess(['token', '--scope', 'admin', '--data', 'elsewhere'], { cwd: folder.path, env })
  assert.is(code, 0)
  assert.is((await runInProcess(['verify'], { cwd: folder.path, env })).code, 0)
})

keys('validate answers each line in order, whatever the line holds, and exits 0', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  const lines = [
    '{"before":{"facts":{"a":1}},"after":{"facts":{"a":1}}}',
    '{"before":{"facts":{"a":1}},"after":{"facts":{"a":2}}}',
    'no json',
    '',
    '{"before":{"facts":{"a":1}},"after":{"facts":{"a":2}},"supersedes":[{"path":"/facts/a","reason":"new figure"}]}',
  ]
  const { code, stdout } = await runInProcess(['validate'], { cwd, stdin: lines.join('\n') })
  assert.is(code, 0)
  const verdicts = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).verdict)
  assert.equal(verdicts, ['accept', 'reject', 'reject', 'reject', 'accept'])

  writeFileSync(folder.file('policy.json'), '{"protect":["other"],"criticalKeys":[]}')
  const lax = await runInProcess(['validate', '--policy', 'policy.json'], { cwd, stdin: lines[1] ?? '' })
  assert.is(JSON.parse(lax.stdout).verdict, 'accept')
  const explained = await runInProcess(['validate', '--explain'], { cwd, stdin: lines[1] ?? '' })
  assert.match(explained.stdout, /^reject \(0 % kept\)\n {2}error contradicted \/facts\/a 1 -> 2\n/)
  assert.match(explained.stdout, /"supersedes": \[\{"path": "\/facts\/a"/)
  writeFileSync(folder.file('typo.json'), '{"protekt":"*"}')
  const typo = await runInProcess(['validate', '--policy', 'typo.json'], { cwd })
  assert.is(typo.code, 2)
  assert.match(typo.stderr, /protekt/)
  writeFileSync(folder.file('wrong.json'), '{"criticalKeys":"other"}')
  assert.is((await runInProcess(['validate', '--policy', 'wrong.json'], { cwd })).code, 2)
})

keys('validate keeps up with more lines than any buffer holds', async () => {
  using folder = tempFolder()
  const line = '{"before":{"facts":{"a":"x"}},"after":{"facts":{"a":"x"}}}\n'
  const { code, stdout } = await countersign(['validate'], { cwd: folder.path, stdin: line.repeat(20_000) })
  assert.is(code, 0)
  assert.is(stdout.split('\n').length, 20_001)
})

keys.run()
