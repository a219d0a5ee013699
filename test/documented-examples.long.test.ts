import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../schemas/json.ts'
import { anthropic, ollama, openAi } from './agent/models/fake-providers.ts'
import { cleanEnv, runCommand } from './support/command-line.ts'
import { exampleIn, publicExports } from './support/public-exports.ts'
import { startServer } from './support/server-process.ts'
import { ROOT } from './support/source-root.ts'
import { tempFolder } from './support/temp-folder.ts'

const test = suite('the examples of the public interface')
const TSC = join(ROOT, 'node_modules', '.bin', 'tsc')
const EXAMPLES = publicExports().flatMap(({ entry, name, comment }) => {
  const code = exampleIn(comment)
  return code === undefined ? [] : [{ file: `${entry.split('/')[1]}-${name}`, code }]
})

/** A project outside of the repository, with the package and what the examples wrap. */
const folder = tempFolder()
test.after(() => folder[Symbol.dispose]())
test.before(() => {
  const modules = folder.file('node_modules')
  mkdirSync(modules)
  for (const each of readdirSync(join(ROOT, 'node_modules')).filter((name) => !name.startsWith('.')))
    symlinkSync(join(ROOT, 'node_modules', each), join(modules, each))
  symlinkSync(ROOT, join(modules, 'countersign'))
  writeFileSync(folder.file('package.json'), '{"private":true,"type":"module"}')
  const compilerOptions = {
    ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, skipLibCheck: true },
    ...{ target: 'es2022', module: 'nodenext', types: ['node'], outDir: 'out' },
    lib: ['es2023', 'esnext.disposable', 'dom', 'dom.asynciterable'],
  }
  writeFileSync(folder.file('tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  for (const { file, code } of EXAMPLES) writeFileSync(folder.file(`${file}.ts`), `${code}\nexport {}\n`)
  writeFileSync(folder.file('run.js'), RUNNER)
})

/** Runs one after the other; prints a line each: what it printed, or what it threw. */
const RUNNER = `
import { readdirSync } from 'node:fs'
import { format } from 'node:util'
const print = process.stdout.write.bind(process.stdout)
for (const file of readdirSync('out').filter((name) => name.endsWith('.js')).sort()) {
  const lines = []
  console.log = (...args) => lines.push(format(...args))
  const error = await import('./out/' + file).then(() => undefined, (thrown) => String(thrown?.stack ?? thrown))
  print(JSON.stringify({ file: file.slice(0, -3), lines, error }) + '\\n')
}
process.exit(0)
`

test('each compiles against the built package, strictly', () => {
  assert.ok(EXAMPLES.length > 40)
  const { status, stdout } = spawnSync(TSC, ['-p', folder.path], { encoding: 'utf8' })
  assert.is(status, 0, stdout)
})

test('each runs, and prints what it says that it prints', async () => {
  await using server = await startServer({ data: folder.file('served') })
  const providers = await servedProviders()
  const { code, stdout, stderr } = await runCommand([process.execPath, 'run.js'], {
    cwd: folder.path,
    env: {
      ...cleanEnv(),
      ...{ COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: await server.token() },
      ...{ OPENAI_BASE_URL: `${providers.url}/v1`, OPENAI_API_KEY: 'none' },
      ...{ ANTHROPIC_BASE_URL: providers.url, ANTHROPIC_API_KEY: 'none', OLLAMA_HOST: providers.url },
    },
  })
  providers.close()
  assert.is(code, 0, stderr)
  const results = new Map(stdout.split('\n').flatMap((line) => resultIn(line)))
  assert.is(results.size, EXAMPLES.length, stdout + stderr)
  for (const { file, code: example } of EXAMPLES) {
    const { lines = [], error } = results.get(file) ?? {}
    assert.is(error, undefined, `${file}: ${error}`)
    const said = [...example.matchAll(/console\.log\(.*\) ?\/\/ (.*)$/gm)].map(([, text = '']) => text)
    assert.equal(
      said.filter((text) => !lines.includes(text)),
      [],
      `${file} printed ${JSON.stringify(lines)}`,
    )
  }
})

interface Result {
  readonly file: string
  readonly lines: readonly string[]
  readonly error?: string
}

function resultIn(line: string): (readonly [string, Result])[] {
  if (!line.startsWith('{"file"')) return []
  const result = JSON.parse(line) as Result
  return [[result.file, result]]
}

/** The providers that the wrapped clients talk to, on this machine. */
async function servedProviders(): Promise<{ readonly url: string; readonly close: () => void }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const { pathname } = new URL(request.url ?? '/', 'http://provider.test')
      const body = JSON.parse(Buffer.concat(chunks).toString() || '{}') as JsonObject
      const answer = pathname.includes('/missing')
        ? new Response('{}', { status: 404 })
        : pathname.endsWith('/messages')
          ? anthropic(pathname, body)
          : pathname.startsWith('/api/')
            ? ollama(pathname, body)
            : openAi(pathname, body)
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close().closeAllConnections() }
}

test.run()
