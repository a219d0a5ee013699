import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { SessionRun } from '../../src/capture/session-run.ts'
import { createClient } from '../../src/client/client.ts'
import { captureOf } from '../../src/dashboard/parts/capture.tsx'
import { testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const captured = suite('dashboard: runs that an entrance recorded')

captured(
  'a captured run is marked in the list and on its page as proxied or gated, with what that proves; others are not (A531, CAP-48)',
  async () => {
    await using edge = await testEdge()
    const token = await edge.token()
    const client = createClient({
      url: 'http://ledger.test',
      token,
      fetch: async (url, init) => edge.app.request(url, init),
    })
    const proxied = new SessionRun({ client, named: undefined, server: 'files', transport: 'stdio' })
    await proxied.ready()
    const olga = await signedIn(edge, { subject: 'olga' })
    const first = await olga.html('/ui/runs')
    assert.match(first, />proxied<.*What these badges prove.*Calls that went another way are not here/s)
    assert.not.match(first, />gated</)
    await client.execute('', { kind: 'start', body: { id: 'hooked', name: 'hook', tags: ['hook', 'claude-code'] } })
    await edge.started('plain', { tags: ['mcp'] })
    await edge.started('named', { name: 'mcp' })
    const both = await olga.html('/ui/runs')
    assert.match(both, />gated<.*A hook that is missing or was killed means yes/s)
    assert.is(both.match(/badge-captured/g)?.length, 4, 'two rows, and the legend of both')
    const page = await olga.html(`/ui/runs/${proxied.id}`)
    assert.match(page, /<h1>.*>proxied<.*<\/h1>.*What these badges prove/s)
    assert.not.match(await olga.html('/ui/runs/plain'), /badge-captured|What these badges prove/)
    assert.is(captureOf({ name: 'constructor', tags: ['constructor'] }), undefined)
  },
)

captured.run()
