const form = document.querySelector("form"), answer = document.querySelector("pre")
const examples = {
  decide: { context: { hour: 21, device: "phone" } },
  decide_many: { decisions: [{ context: { hour: 21 } }] },
  reward: { event_id: "", value: 1 },
  reward_many: { rewards: [{ event_id: "", value: 1 }] },
  activate: { event_id: "" },
  clone: { name: "copy" },
  actions: { action: "weather" },
}
const described = await (await fetch("/openapi.json")).json()
for (const [path, methods] of Object.entries(described.paths))
  for (const [method, operation] of Object.entries(methods)) {
    const option = new Option(`${operation.summary} (${method.toUpperCase()} ${path})`)
    Object.assign(option.dataset, { path, method, body: operation.requestBody ? "yes" : "" })
    form.operation.add(option)
  }
const shown = () => form.operation.selectedOptions[0].dataset
form.operation.onchange = () => {
  const { path, body } = shown(), verb = path.split("/").at(-1)
  form.path.value = path.replace("{name}", "default")
  form.body.value = body ? JSON.stringify(examples[verb] ?? {}, null, 2) : ""
}
form.operation.onchange()
form.onsubmit = async (event) => {
  event.preventDefault()
  const { method, body } = shown(), headers = { "Content-Type": "application/json" }
  if (form.key.value) headers.Authorization = `Bearer ${form.key.value}`
  try {
    const came = await fetch(form.path.value, { method: method.toUpperCase(), headers, body: body ? form.body.value : undefined })
    answer.textContent = `${came.status}\n${JSON.stringify(await came.json(), null, 2)}`
  } catch (error) {
    answer.textContent = String(error)
  }
}
