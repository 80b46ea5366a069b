"""temp."""


async def resolve(prompt, executor, cwd):
    return ""
