// The console's only script, as the browser gets it: a module without a build. It shows times in the zone of the reader, and follows
// what changes while the page is seen. Everything is there without it.

import { createHash } from 'node:crypto'

export const CONSOLE_SCRIPT = `// Times in the zone of the reader; UTC stays what they say when they are pointed at.
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const exact = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
function localise(root) {
  for (const time of root.querySelectorAll('time[datetime]')) {
    const at = new Date(time.dateTime)
    if (Number.isNaN(at.getTime())) continue
    const isToday = at.toDateString() === new Date().toDateString()
    const { form } = time.dataset
    time.textContent = form === 'short'
      ? (isToday ? '' : day.format(at) + ', ') + clock.format(at)
      : (form === 'clock' ? exact : whole).format(at)
  }
  for (const mark of root.querySelectorAll('.local text[data-at]'))
    mark.textContent = clock.format(new Date(mark.dataset.at))
  for (const note of root.querySelectorAll('.local .utc')) note.remove()
}
localise(document)

// A form without words asks for nothing.
document.querySelector('form[role=search]')?.addEventListener('submit', (event) => {
  if (event.target.elements.q.value.trim() === '') event.preventDefault()
})

// The page again, as it is now: when other runs are live than it shows, or when what was away is back.
let asking = false
let askedAt = 0
async function again() {
  if (asking || Date.now() - askedAt < 2000) return
  asking = true
  askedAt = Date.now()
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' } })
    if (answer.redirected) return location.reload()
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const main = page.querySelector('main')
    if (main === null) return
    const open = [...document.querySelectorAll('main details')].map((each) => each.open)
    document.querySelector('main').innerHTML = main.innerHTML
    shown.clear()
    document.querySelectorAll('main details').forEach((each, at) => { each.open = open[at] ?? false })
    document.title = page.title
    if (page.body.dataset.live !== undefined) document.body.dataset.live = page.body.dataset.live
    localise(document)
  } catch {
    // The console is away; the stream says when it is back.
  } finally {
    asking = false
  }
}

// One stream while the page is seen; none while it is hidden.
const shown = new Map()
let stream = null
let timer = null
function follow() {
  clearTimeout(timer)
  if (document.hidden || document.body.dataset.live === undefined) {
    stream?.close()
    stream = null
    return
  }
  if (stream !== null && stream.readyState !== EventSource.CLOSED) return
  stream = new EventSource('/live')
  stream.addEventListener('live', (event) => {
    const { runs, fragments } = JSON.parse(event.data)
    for (const [id, text] of Object.entries(fragments)) {
      const place = document.getElementById(id)
      if (place === null || shown.get(id) === text) continue
      shown.set(id, text)
      place.innerHTML = text
      localise(place)
    }
    if (runs !== document.body.dataset.live) void again()
  })
  stream.addEventListener('login', () => location.reload())
  // A browser gives up where the answer was no stream.
  stream.addEventListener('error', () => { timer = setTimeout(follow, 5000) })
}
document.addEventListener('visibilitychange', follow)
follow()
`

/** Its address changes with it, so that a browser may keep it. */
export const SCRIPT_PATH = `/assets/console-${createHash('sha256').update(CONSOLE_SCRIPT).digest('hex').slice(0, 12)}.js`
