"""Commands that ask whatever was allowed, and beside them those that are like them and may be allowed."""

from __future__ import annotations

import pytest

from zidane_lab.approvals.shell_code import classify_shell

CRITICAL = """
rm -rf build
rm -r build
rm -fr build
rm -Rf build
rm --recursive build
rm --rec build
command rm -rf build
time rm -rf build
/bin/rm -rf build
find . -name '*.pyc' -delete
shred -u x
git push --force
git push -f
git push -uf origin main
git push --force-with-lease origin main
git push --for origin main
git push origin +main
git push origin :main
git push --delete origin x
git push --mirror
git push --prune origin
git reset --hard
git reset --har HEAD~1
git reset HEAD~1 --hard
git reset --merge
git clean -fdx
git clean -n
git checkout -- .
git checkout .
git checkout -- a.py
git checkout HEAD -- a.py
git checkout -f main
git checkout --force main
git switch -f main
git switch --discard-changes main
git restore .
git branch -D x
git branch -rD x
git branch --delete x
git branch -f main HEAD~3
git tag -d v1
git tag -f v1
git stash drop
git stash clear
git commit --amend -m x
git reflog expire --all
git update-ref -d HEAD
git worktree remove x
git submodule deinit -f x
git rm -r x
git rebase --abort
git filter-repo --path x
dd if=a of=b
mkfs.ext4 x
mkfs x
wipefs -a x
chmod -R 777 .
chmod --recursive 777 .
chown -R me .
chgrp -R me .
chmod u+s f
chmod 4755 f
kill -9 -1
kill 1
rsync -a --delete a/ b/
rsync -a --remove-source-files a b
rclone sync a b
tar cf a.tar --remove-files d
docker system prune
docker volume rm x
docker volume prune -f
docker rm -f x
docker rmi -f x
docker compose down -v
docker-compose down --volumes
docker run --privileged x
docker run -v /:/host x
docker run -v /var/run/docker.sock:/s x
podman system prune -a
kubectl delete pod x
kubectl drain n
kubectl apply --force -f x
kubectl scale --replicas=0 deploy/x
helm uninstall x
terraform destroy
terraform apply -auto-approve
aws s3 rm s3://b --recursive
aws s3 rb s3://b
aws ec2 terminate-instances --instance-ids i
aws dynamodb delete-table --table-name t
gcloud compute instances delete x
az group delete -n x
heroku pg:reset
gh repo delete a/b
gh api -X DELETE repos/a/b
curl -X DELETE https://h/x
redis-cli flushall
dropdb x
psql -c 'DROP TABLE users'
psql -c "drop database x"
mysql -e 'TRUNCATE TABLE users'
sqlite3 a.db 'delete from users;'
mongosh --eval 'db.users.drop()'
npm publish
cargo publish
twine upload dist/*
poetry publish
conda env remove -n x
ssh host rm -rf /srv
docker exec c rm -rf /data
shutdown now
reboot
""".strip().splitlines()

ORDINARY = """
rm a.pyc
rm -f a.pyc b.pyc
git push
git push origin main
git push -u origin feature-fd
git push --follow-tags
git push --dry-run
git commit -m 'force the reset'
git commit -m 'drop table users'
git commit -am wip
git checkout main
git checkout -b feature
git switch main
git switch -c x
git add -A
git merge x
git pull --rebase
git fetch --prune
git branch new
git tag v1
git stash
git stash pop
git reset a.py
git reset --soft HEAD~1
git reset --mixed
chmod +x run.sh
chmod 755 run.sh
chown me f
kill 4711
rsync -a a/ b/
tar czf a.tgz d
docker build .
docker run x
docker compose up -d
docker compose down
docker rm x
kubectl apply -f x
kubectl get pods
helm install x y
terraform plan
aws s3 cp a s3://b
gcloud compute instances list
gh pr create
curl -X POST https://h
redis-cli get a
psql -c 'select * from users'
psql -c 'delete from users where id = 1'
npm run build
npm install
cargo build
poetry install
conda install x
ssh host ls
pytest -q
make
python x.py
""".strip().splitlines()


@pytest.mark.parametrize("command", CRITICAL)
def test_what_is_not_undone_asks_whatever_was_allowed(command):
    assert classify_shell(command).critical


@pytest.mark.parametrize("command", ORDINARY)
def test_ordinary_work_may_be_allowed(command):
    verdict = classify_shell(command)
    assert (verdict.critical, verdict.is_opaque, verdict.risk) == ((), False, "ask")


@pytest.mark.parametrize(
    "command",
    [
        "psql <<EOF\ndrop table users;\nEOF",
        "cat x.sql && psql -f x.sql -c 'drop schema s'",
        "echo 'drop table t' | psql d",
    ],
)
def test_sql_is_seen_wherever_it_stands(command):
    assert "destroys the data of a database" in classify_shell(command).critical


@pytest.mark.parametrize(
    "command", ["grep -n 'drop table' a.sql", "echo drop table x", "git log --grep='drop table x'"]
)
def test_words_about_sql_are_words(command):
    assert classify_shell(command).critical == ()


@pytest.mark.parametrize("command", ["ls; git push --force", "make && rm -rf x", "if true; then git reset --hard; fi"])
def test_it_is_seen_among_other_commands(command):
    assert classify_shell(command).critical
