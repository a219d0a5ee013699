import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startServer } from '../support/server-process.ts'
import { ROOT } from '../support/source-root.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('http: what others make of the description of the API')
const TOOLS = join(ROOT, 'tools/openapi')
const IS_INSTALLED = existsSync(join(TOOLS, 'node_modules'))
const claim = IS_INSTALLED ? test : test.skip
if (!IS_INSTALLED) console.log('skipped: clients of the API description, run npm ci --prefix tools/openapi')

const run = promisify(execFile)

/** The part of `@redocly/openapi-core` that is used. */
interface Linter {
  createConfig(raw: { readonly extends: readonly string[] }): Promise<object>
  lintFromString(options: { source: string; absoluteRef: string; config: object }): Promise<readonly LintProblem[]>
}

interface LintProblem {
  readonly ruleId: string
  readonly message: string
  readonly location: readonly { readonly pointer?: string }[]
}

claim('redocly finds nothing against it (HTTP-98)', async () => {
  await using server = await startServer()
  const source = await (await fetch(`${server.url}/openapi.json`)).text()
  const { createConfig, lintFromString } = (await import(
    pathToFileURL(createRequire(join(TOOLS, 'package.json')).resolve('@redocly/openapi-core')).href
  )) as Linter
  const config = await createConfig({ extends: ['recommended'] })
  const lint = async (text: string) => {
    const problems = await lintFromString({ source: text, absoluteRef: join(TOOLS, 'openapi.json'), config })
    return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`)
  }
  assert.equal(await lint(source), [])
  const spoiled = source.replace('"operationId"', '"operationID"')
  assert.ok((await lint(spoiled)).length > 0, 'the linter must see the document')
})

claim('a client that openapi-typescript makes of it compiles, and drives a run (HTTP-98)', async () => {
  await using server = await startServer()
  using folder = tempFolder()
  const at = (name: string) => join(folder.path, name)
  writeFileSync(at('openapi.json'), await (await fetch(`${server.url}/openapi.json`)).text())
  copyFileSync(join(TOOLS, 'drive.ts'), at('drive.ts'))
  symlinkSync(join(TOOLS, 'node_modules'), at('node_modules'))
  const program = (file: string, ...args: string[]) => run(process.execPath, [file, ...args], { cwd: folder.path })
  await program(join(TOOLS, 'node_modules/openapi-typescript/bin/cli.js'), 'openapi.json', '-o', 'api.ts')
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    target: 'es2024',
    module: 'nodenext',
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: false,
    lib: ['es2024', 'dom'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    types: ['node'],
  }
  writeFileSync(at('package.json'), JSON.stringify({ type: 'module' }))
  writeFileSync(at('tsconfig.json'), JSON.stringify({ compilerOptions, files: ['drive.ts'] }))
  const compiled = await program(join(TOOLS, 'node_modules/typescript/bin/tsc')).catch((error) => error)
  assert.is(compiled.stdout, '')

  const env = { ...process.env, LEDGER_URL: server.url, LEDGER_TOKEN: await server.token() }
  const { stdout } = await run(process.execPath, ['drive.ts'], { cwd: folder.path, env })
  assert.equal(stdout.trim().split('\n'), [
    'started by-openapi',
    'accepted 1',
    'refused contradiction',
    'calls charge succeeded',
    'ended completed',
    'missing 404 run-not-found',
  ])
})

test.run()
